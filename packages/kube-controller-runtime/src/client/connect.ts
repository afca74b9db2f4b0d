import { buildConnector } from "undici";
import type { TlsOptions } from "./identity.ts";
import type { ProxyAddress } from "./proxy/address.ts";
import { openTunnel } from "./proxy/tunnel.ts";

const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_PROBE_MS = 15_000;

/** How to reach the API server, and how the connection is secured. */
export interface ConnectionOptions {
  readonly tls: TlsOptions;
  readonly proxy?: ProxyAddress | undefined;
}

/** Opens connections to the API server, directly or through a proxy; `connect` of an undici `Agent`. */
export function connectorFor({ tls, proxy }: ConnectionOptions): buildConnector.connector {
  const straight = buildConnector({
    ...tls,
    // HTTP/2 would need fewer connections for watches, but an abort would only end a stream: undici would
    // keep sending requests over the same dead connection.
    allowH2: false,
    timeout: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_PROBE_MS,
  });
  return proxy ? through(proxy, straight, tls.ca) : straight;
}

function through(
  proxy: ProxyAddress,
  secure: buildConnector.connector,
  ca: string | undefined,
): buildConnector.connector {
  return (target, callback) => {
    const { hostname, protocol } = target;
    const port = target.port || (protocol === "https:" ? 443 : 80);
    openTunnel(proxy, { hostname, port, timeoutMs: CONNECT_TIMEOUT_MS, ca }).then(
      (socket) => {
        socket.setKeepAlive(true, KEEP_ALIVE_PROBE_MS);
        if (protocol === "https:") secure({ ...target, httpSocket: socket }, callback);
        else callback(null, socket);
      },
      (error: Error) => callback(error, null),
    );
  };
}
