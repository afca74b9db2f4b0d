import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectSecure, getCACertificates } from "node:tls";
import type { ProxyAddress } from "./address.ts";

/** Which connection to open, and until when. */
export interface TunnelTarget {
  readonly hostname: string;
  readonly port: string | number;
  readonly timeoutMs: number;
  /** An authority to believe for the proxy itself, besides those that Node believes. */
  readonly ca?: string | undefined;
}

/**
 * Opens a connection through a proxy by CONNECT. The proxy sees the server's address and never our certificate;
 * its own certificate is always checked. Rejects when it refuses or does not answer in time.
 */
export async function openTunnel(proxy: ProxyAddress, target: TunnelTarget): Promise<Socket> {
  const asking = askFor(proxy, target);
  const seconds = target.timeoutMs / 1_000;
  const late = () => asking.destroy(new Error(`gave no answer within ${seconds} seconds`));
  const timer = setTimeout(late, target.timeoutMs);
  try {
    const [response, socket, head] = (await once(asking.end(), "connect")) as [
      IncomingMessage,
      Socket,
      Buffer,
    ];
    if (response.statusCode !== 200) {
      socket.destroy();
      throw new Error(`answered CONNECT with ${response.statusCode}`);
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
