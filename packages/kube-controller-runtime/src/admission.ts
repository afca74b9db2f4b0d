import type { Dispatcher } from "undici";

/**
 * The same connections, asking `admit` once for each request: when it has got a connection, right before its
 * first byte is written. What `admit` throws ends the request, unsent, and the connection stays usable.
 */
export function admittedBy(admit: () => void, connections: Dispatcher): Dispatcher {
  return connections.compose(
    (dispatch) => (options, handler) => dispatch(options, admittedHandler(admit, handler)),
  );
}

function admittedHandler(admit: () => void, handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  return {
    // undici writes the request in the very turn in which this returns.
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
