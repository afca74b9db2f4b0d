import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { CoderdDeployment, type DeploymentOptions } from "./deployment.ts";
import { respond } from "./respond.ts";

export interface CoderdServerOptions {
  /** Serve TLS with this key and certificate, in PEM. */
  readonly tls?: { readonly key: string; readonly cert: string };
}

/** How requests find a deployment: by the name in the `Host` header, or by the first segment of the path. */
type Address = { readonly host: string } | { readonly pathPrefix: string };

/**
 * A loopback server that plays any number of coderds. Give each an address, or let one take every request
 * that no address matches.
 */
export interface CoderdServer {
  /** The server itself: the base URL of the deployment without an address. */
  readonly url: string;
  /** Adds a deployment; one without an address answers every request that matches no other. */
  add(options?: DeploymentOptions, address?: Address): CoderdDeployment;
  close(): Promise<void>;
}

export async function startCoderdServer(options: CoderdServerOptions = {}): Promise<CoderdServer> {
  const deployments = new Map<string, CoderdDeployment>();
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    const { deployment, path } = locate(deployments, request);
    void respond(deployment, { request, path, response });
  };
  const server = options.tls ? createTlsServer(options.tls, handle) : createServer(handle);
  // Like the real one, it announces no end of idle connections: clients may keep them.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${options.tls ? "https" : "http"}://127.0.0.1:${port}`,
    add(deploymentOptions = {}, address) {
      const deployment = new CoderdDeployment(deploymentOptions);
      deployments.set(keyOf(address), deployment);
      return deployment;
    },
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await Promise.all([...deployments.values()].map(({ accounts }) => accounts.close()));
    },
  };
}

function keyOf(address: Address | undefined): string {
  if (!address) return "*";
  return "host" in address ? `host ${address.host}` : `path ${address.pathPrefix}`;
}

function locate(
  deployments: ReadonlyMap<string, CoderdDeployment>,
  request: IncomingMessage,
): { deployment: CoderdDeployment | undefined; path: string } {
  const path = request.url ?? "/";
  const host = (request.headers.host ?? "").replace(/:\d+$/, "");
  const byHost = deployments.get(`host ${host}`);
  if (byHost) return { deployment: byHost, path };
  const prefix = /^\/[^/?]+/.exec(path)?.[0] ?? "";
  const byPath = deployments.get(`path ${prefix}`);
  if (byPath) return { deployment: byPath, path: path.slice(prefix.length) || "/" };
  return { deployment: deployments.get("*"), path };
}
