import { buildConnector } from "undici";
import type { TlsOptions } from "./identity.ts";
import type { ProxyAddress } from "./proxy/address.ts";
import { openTunnel } from "./proxy/tunnel.ts";

const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_PROBE_MS = 15_000;

/** Where connections to the API server go through, and how they are secured. */
export interface Way {
  readonly tls: TlsOptions;
  readonly proxy?: ProxyAddress | undefined;
}

/** Opens connections to the API server, straight or through a proxy; `connect` of an undici `Agent`. */
export function connectorFor({ tls, proxy }: Way): buildConnector.connector {
  const straight = buildConnector({
    ...tls,
    // HTTP/2 would open many watches more cheaply, but an abort ends only a stream there: undici would send
    // the next request into the same dead connection, again and again.
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
