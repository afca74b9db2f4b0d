import { type Credentials, connectorFor } from "kube-controller-runtime";
import { Agent } from "undici";
import { directRoute, fixedAddress, type Route } from "../coder/http/route.ts";

/** How the operator reaches coderd: `direct`, `service-proxy`, or an http(s) URL that stands for every coderd. */
export function coderdRoute(access: string, credentials: Credentials): Route {
  if (access === "direct") return directRoute;
  if (access === "service-proxy") return serviceProxy(credentials);
  return fixedAddress(access);
}

/**
 * Through the API server, which can reach Services where this process can't: from outside the cluster. The
 * user of the kubeconfig needs `get`, `create`, `patch` and `delete` on `services/proxy`. What is no Service is
 * reached directly.
 */
function serviceProxy(credentials: Credentials): Route {
  let connections = openConnections(credentials);
  return async (coderd) => {
    const path = proxyPath(coderd);
    if (!path) return directRoute(coderd);
    const headers = await credentials.headers();
    if (connections.tls !== credentials.tls) {
      // Certificates were rotated. What is under way on the old connections may end there.
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

/** `name.namespace.svc`, with the cluster's domain behind it or without. */
const SERVICE_HOST = /^([a-z0-9-]+)\.([a-z0-9-]+)\.svc(?:\.|$)/;

/** The address of a Service by the URL that it has in the cluster; nothing for the URL of anything else. */
function proxyPath({ hostname, port, protocol }: URL): string | undefined {
  const [, name, namespace] = SERVICE_HOST.exec(hostname) ?? [];
  if (!name || !namespace) return undefined;
  const scheme = protocol.slice(0, -1);
  const number = port || (scheme === "https" ? "443" : "80");
  return `/api/v1/namespaces/${namespace}/services/${scheme}:${name}:${number}/proxy`;
}
