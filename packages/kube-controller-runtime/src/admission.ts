import type { Dispatcher } from "undici";

/**
 * Wraps a dispatcher so that it calls `admit` once for each request, on a connection and right before the
 * first byte is written. If `admit` throws, the request fails without being sent, and the connection stays
 * usable.
 */
export function admittedBy(admit: () => void, connections: Dispatcher): Dispatcher {
  return connections.compose(
    (dispatch) => (options, handler) => dispatch(options, admittedHandler(admit, handler)),
  );
}

function admittedHandler(admit: () => void, handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  return {
    // undici writes the request synchronously after this returns.
    onRequestStart: (controller, context) => {
      admit();
      handler.onRequestStart?.(controller, context);
    },
    onResponseStart: (...response) => handler.onResponseStart?.(...response),
    onResponseData: (...data) => handler.onResponseData?.(...data),
    onResponseEnd: (...end) => handler.onResponseEnd?.(...end),
    onResponseError: (...failure) => handler.onResponseError?.(...failure),
  };
}
