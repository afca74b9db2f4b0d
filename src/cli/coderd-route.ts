import { type Credentials, connectorFor } from "kube-controller-runtime";
import { Agent } from "undici";
import { directRoute, fixedAddress, type Route } from "../coder/http/route.ts";

/** Returns the route to coderd: `direct`, `service-proxy`, or a fixed http(s) URL for every coderd. */
export function coderdRoute(access: string, credentials: Credentials): Route {
  if (access === "direct") return directRoute;
  if (access === "service-proxy") return serviceProxy(credentials);
  return fixedAddress(access);
}

/**
 * Connects through the API server, which can reach Services that this process cannot reach from outside the
 * cluster. The kubeconfig user needs `get`, `create`, `patch` and `delete` on `services/proxy`. Connects
 * directly to hosts that are not Services.
 */
function serviceProxy(credentials: Credentials): Route {
  let connections = openConnections(credentials);
  return async (coderd) => {
    const path = proxyPath(coderd);
    if (!path) return directRoute(coderd);
    const headers = await credentials.headers();
    if (connections.tls !== credentials.tls) {
      // The certificates changed. Running requests may finish on the old connections.
      void connections.dispatcher.close();
      connections = openConnections(credentials);
    }
    const { origin, pathPrefix } = credentials;
    return { origin, pathPrefix: `${pathPrefix}${path}`, headers, dispatcher: connections.dispatcher };
  };
}

function openConnections(credentials: Credentials): { tls: Credentials["tls"]; dispatcher: Agent } {
  return { tls: credentials.tls, dispatcher: new Agent({ connect: connectorFor(credentials) }) };
}

/** Matches `name.namespace.svc`, with or without the cluster domain. */
const SERVICE_HOST = /^([a-z0-9-]+)\.([a-z0-9-]+)\.svc(?:\.|$)/;

/** Returns the proxy path of a Service for its in-cluster URL, or undefined for any other URL. */
function proxyPath({ hostname, port, protocol }: URL): string | undefined {
  const [, name, namespace] = SERVICE_HOST.exec(hostname) ?? [];
  if (!name || !namespace) return undefined;
  const scheme = protocol.slice(0, -1);
  const number = port || (scheme === "https" ? "443" : "80");
  return `/api/v1/namespaces/${namespace}/services/${scheme}:${name}:${number}/proxy`;
}
