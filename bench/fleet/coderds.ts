import { type Accounts, PostgresAccounts } from "../../lab/coderd/accounts.ts";
import type { CoderdDeployment } from "../../lab/coderd/deployment.ts";
import { startCoderdServer } from "../../lab/coderd/server.ts";
import { controlPlaneName } from "./names.ts";
import type { FleetShape } from "./shape.ts";

/** The simulated coderds of a fleet. */
export interface Coderds extends AsyncDisposable {
  readonly url: string;
  /** A daemon joins the coderd that knows its key. */
  join(name: string, secret: string): void;
  /** The total number of requests. */
  requests(): number;
  /** How often any of them was asked for its entitlements. */
  entitlementCalls(): number;
}

/**
 * One for each control plane. They share a database, because the tokens in it contain their owners' names.
 */
export async function startCoderds(
  { size, latencyMs }: FleetShape,
  { namespace, databaseUrl }: { namespace: string; databaseUrl: string },
): Promise<Coderds> {
  const server = await startCoderdServer();
  const tokens = new PostgresAccounts(databaseUrl);
  const accounts = remembering(tokens);
  const deployments: CoderdDeployment[] = [];
  for (let index = 0; index < size; index++) {
    const host = `${controlPlaneName(index)}.${namespace}.svc.cluster.local`;
    const deployment = server.add({ accounts }, { host });
    if (latencyMs > 0) deployment.faults.inject({ fault: { kind: "latency", ms: latencyMs } });
    deployments.push(deployment);
  }
  return {
    url: server.url,
    join: (name, secret) => {
      for (const deployment of deployments) deployment.connectDaemon(name, secret);
    },
    requests: () => deployments.reduce((sum, deployment) => sum + deployment.count(), 0),
    entitlementCalls: () =>
      deployments.reduce((sum, deployment) => sum + deployment.count("GET /api/v2/entitlements"), 0),
    async [Symbol.asyncDispose]() {
      await server.close();
      await tokens.close();
    },
  };
}

/** Queries the database once for each valid token, so that its load does not distort the measurement. */
function remembering(accounts: Accounts): Accounts {
  const known = new Map<string, Awaited<ReturnType<Accounts["find"]>>>();
  return {
    async find(token, now) {
      const account = known.get(token) ?? (await accounts.find(token, now));
      if (account) known.set(token, account);
      return account;
    },
    describe: (id, userId) => accounts.describe(id, userId),
    revoke: (id, userId) => accounts.revoke(id, userId),
    // Each of the coderds closes the shared resources.
    close: async () => {},
  };
}
