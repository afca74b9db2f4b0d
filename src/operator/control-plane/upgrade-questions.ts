import type { CoderClient } from "../../coder/client.ts";
import { mayResolve } from "../../coder/failure.ts";
import { succeeded } from "../../coder/result.ts";
import { type AccessFailure, isWithoutDatabase } from "../coderd/access-failure.ts";
import type { Builds, UpgradeFacts } from "../upgrade/facts.ts";
import type { UpgradeQuestions, UpgradeSession } from "../upgrade/observe.ts";
import type { Environment, Snapshot } from "./observe.ts";
import { coderdClient } from "./token/check.ts";
import { connectionUrl } from "./token/database.ts";
import { usableToken } from "./token/secret.ts";

type Asked = Partial<UpgradeFacts>;

/** The session of a reconcile. Absent without a token, or if coderd's Service does not select its pods. */
export function upgradeSession(
  snapshot: Snapshot,
  environment: Environment,
  serviceSelectsPods: boolean,
): UpgradeSession | undefined {
  const token = serviceSelectsPods ? usableToken(snapshot) : undefined;
  return token ? { token, client: () => coderdClient(token, { snapshot, environment }) } : undefined;
}

/** Queries of an upgrade in a reconcile. */
export function upgradeQuestions(
  snapshot: Snapshot,
  environment: Environment,
  session: UpgradeSession | undefined,
): UpgradeQuestions {
  const run = { snapshot, environment };
  return {
    database: () => askDatabase(snapshot, environment),
    builds: async () => ({ builds: session ? await countBuilds(session.client()) : "unknown" }),
    version: async () => {
      const build = await coderdClient(undefined, run).buildInfo();
      return { reported: build.ok ? succeeded(build.value.version) : build };
    },
  };
}

const noSQL = {
  given: "The operator does not access the database because spec.operatorAccess.tokenSecretRef is set.",
  disabled: "The operator does not access the database because spec.operatorAccess.disabled is set.",
  unknown: "The operator cannot determine the database.",
  cloudIdentity:
    "The operator does not access the database because coderd logs in to its database with the cloud identity of its pod.",
};

function databaseObstacle({ kind }: AccessFailure): string {
  return kind === "cloudIdentity" ? noSQL.cloudIdentity : noSQL.unknown;
}

/** Inspects the database, if the operator has access. */
async function askDatabase(snapshot: Snapshot, environment: Environment): Promise<Asked> {
  const { operatorAccess } = snapshot.controlPlane;
  if (operatorAccess.kind !== "generated") return { database: { why: noSQL[operatorAccess.kind] } };
  const url = connectionUrl(snapshot);
  if (!url.ok)
    return { database: isWithoutDatabase(url.failure) ? { why: databaseObstacle(url.failure) } : url };
  const others = snapshot.upgrade.others();
  const tokenNames = others.map((other) => other.tokenName);
  const inspection = await environment.ports.database.inspect(snapshot.databaseAt(url.value), tokenNames);
  if (!inspection.ok) return { database: inspection };
  const shared = others.filter((other) => inspection.value.tokenNames.includes(other.tokenName));
  return { database: inspection, neighbors: shared.map(({ name }) => name) };
}

/** Number of organizations to query concurrently. */
const BATCH_SIZE = 20;

const RUNNING: ReadonlySet<string> = new Set(["running", "canceling"]);

/**
 * Counts the running builds of all organizations that coderd lists. Stops early when builds were found, so
 * the number is a lower bound.
 */
export async function countBuilds(client: CoderClient): Promise<Builds> {
  const organizations = await client.organizations();
  if (!organizations.ok) return mayResolve(organizations.failure) ? "unanswered" : "unknown";
  const ids = organizations.value.map(({ id }) => id);
  let result: Builds = "unknown";
  for (let from = 0; from < ids.length; from += BATCH_SIZE) {
    const builds = await countIn(ids.slice(from, from + BATCH_SIZE), client);
    if (builds === "unanswered") return builds;
    if (builds !== "unknown") result = builds;
    if (result !== "unknown" && result > 0) return result;
  }
  return result;
}

async function countIn(ids: readonly string[], client: CoderClient): Promise<Builds> {
  const answers = await Promise.all(ids.map((id) => client.unfinishedJobs(id)));
  if (answers.some((jobs) => !jobs.ok && mayResolve(jobs.failure))) return "unanswered";
  if (!answers.some((jobs) => jobs.ok)) return "unknown";
  const jobs = answers.flatMap((each) => (each.ok ? each.value : []));
  return jobs.filter(({ status }) => RUNNING.has(status)).length;
}
