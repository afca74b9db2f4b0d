import { CoderdDeployment, type DeploymentOptions } from "./deployment.ts";

/** How requests are routed to a deployment: by the `Host` header, or by the first segment of the path. */
export type Address = { readonly host: string } | { readonly pathPrefix: string };

/**
 * Any number of simulated coderds, each with an address; one without an address receives all other requests.
 */
export class Coderds {
  readonly #deployments = new Map<string, CoderdDeployment>();

  add(options: DeploymentOptions, address: Address | undefined): CoderdDeployment {
    const deployment = new CoderdDeployment(options);
    this.#deployments.set(keyOf(address), deployment);
    return deployment;
  }

  /** The deployment of a request, if there is one, and the path within it. */
  locate(host: string, path: string): { deployment: CoderdDeployment | undefined; path: string } {
    const byHost = this.#deployments.get(`host ${host.replace(/:\d+$/, "")}`);
    if (byHost) return { deployment: byHost, path };
    const prefix = /^\/[^/?]+/.exec(path)?.[0] ?? "";
    const byPath = this.#deployments.get(`path ${prefix}`);
    if (byPath) return { deployment: byPath, path: path.slice(prefix.length) || "/" };
    return { deployment: this.#deployments.get("*"), path };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#deployments.values()].map(({ accounts }) => accounts.close()));
  }
}

function keyOf(address: Address | undefined): string {
  if (!address) return "*";
  return "host" in address ? `host ${address.host}` : `path ${address.pathPrefix}`;
}
