import { Agent } from "undici";
import { directRoute, fixedAddress, type Route } from "../coder/http/route.ts";
import type { Credentials } from "../runtime/client/credentials.ts";

/** How the operator reaches coderd: `direct`, `service-proxy`, or an http(s) URL that stands for every coderd. */
export function coderdRoute(access: string, credentials: Credentials): Route {
  if (access === "direct") return directRoute;
  if (access === "service-proxy") return serviceProxy(credentials);
  return fixedAddress(access);
}

/**
 * Through the API server, which can reach Services where this process can't: from outside the cluster. The
 * user of the kubeconfig needs `get` and `create` on `services/proxy`.
 */
function serviceProxy({ origin, pathPrefix, tls, headers }: Credentials): Route {
  const dispatcher = new Agent({ connect: { ...tls } });
  return async (coderd) => {
    const [name, namespace] = coderd.hostname.split(".");
    const scheme = coderd.protocol.slice(0, -1);
    const port = coderd.port || (scheme === "https" ? "443" : "80");
    return {
      origin,
      pathPrefix: `${pathPrefix}/api/v1/namespaces/${namespace}/services/${scheme}:${name}:${port}/proxy`,
      headers: await headers(),
      dispatcher,
    };
  };
}
