import { type Accounts, PostgresAccounts } from "../../lab/coderd/accounts.ts";
import type { CoderdDeployment } from "../../lab/coderd/deployment.ts";
import { startCoderdServer } from "../../lab/coderd/server.ts";
import { controlPlaneName } from "./names.ts";
import type { FleetShape } from "./shape.ts";

/** The simulated coderds of a fleet. */
export interface Coderds extends AsyncDisposable {
  readonly url: string;
  /** A daemon joins the one that knows its key. */
  join(name: string, secret: string): void;
  /** How many requests they got in all. */
  requests(): number;
  /** How often any of them was asked what its license entitles to. */
  entitlementCalls(): number;
}

/** One for each control plane. They share a database, as the tokens in it bear their owners' names. */
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

/** Asks the database once for each good token, as its work would count as load that no operator makes. */
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
    // Each of the coderds closes what they share.
    close: async () => {},
  };
}
