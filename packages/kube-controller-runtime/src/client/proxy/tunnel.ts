import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectSecure, getCACertificates } from "node:tls";
import type { ProxyAddress } from "./address.ts";

/** The connection to open, and its deadline. */
export interface TunnelTarget {
  readonly hostname: string;
  readonly port: string | number;
  readonly timeoutMs: number;
  /** A CA to trust for the proxy itself, in addition to those of Node.js. */
  readonly ca?: string | undefined;
}

/**
 * Opens a connection through a proxy by CONNECT. The proxy receives the server's address but never the client
 * certificate; its own certificate is always verified. Rejects if the proxy refuses or does not respond in
 * time.
 */
export async function openTunnel(proxy: ProxyAddress, target: TunnelTarget): Promise<Socket> {
  const asking = askFor(proxy, target);
  const seconds = target.timeoutMs / 1_000;
  const late = () => asking.destroy(new Error(`did not respond within ${seconds} seconds`));
  const timer = setTimeout(late, target.timeoutMs);
  try {
    const [response, socket, head] = (await once(asking.end(), "connect")) as [
      IncomingMessage,
      Socket,
      Buffer,
    ];
    if (response.statusCode !== 200) {
      socket.destroy();
      throw new Error(`responded to CONNECT with ${response.statusCode}`);
    }
    if (head.length > 0) socket.unshift(head);
    return socket;
  } catch (error) {
    const name = `${proxy.host}:${proxy.port}`;
    throw new Error(`proxy ${name}: ${error instanceof Error ? error.message : "failed"}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

function askFor(proxy: ProxyAddress, { hostname, port, ca }: TunnelTarget): ClientRequest {
  const host = hostname.replace(/^\[|\]$/g, "");
  const authority = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  const { authorization } = proxy;
  return request({
    method: "CONNECT",
    path: authority,
    headers: {
      host: authority,
      ...(authorization !== undefined && { "proxy-authorization": authorization }),
    },
    createConnection: () => connectToProxy(proxy, ca),
  });
}

function connectToProxy({ host, port, isSecure }: ProxyAddress, ca: string | undefined): Socket {
  if (!isSecure) return connect({ host, port });
  const servername = isIP(host) ? "" : host;
  return connectSecure({
    host,
    port,
    servername,
    ...(ca !== undefined && { ca: [...getCACertificates("default"), ca] }),
  });
}
