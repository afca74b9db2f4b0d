import { succeeded } from "../../coder/result.ts";
import { type AccessFailure, isWithoutDatabase } from "../coderd/access-failure.ts";
import type { Environment, Snapshot } from "../control-plane/observe.ts";
import { coderdClient } from "../control-plane/token/check.ts";
import { connectionUrl } from "../control-plane/token/database.ts";
import { usableToken } from "../control-plane/token/secret.ts";
import { countBuilds } from "./builds.ts";
import type { UpgradeFacts } from "./facts.ts";

/** What the questions of a run are asked with. */
export interface UpgradeRun {
  readonly snapshot: Snapshot;
  readonly environment: Environment;
  /** Whether coderd's own Service leads to its pods, so that tokens may be sent there. */
  readonly isServed: boolean;
}

type Asked = Partial<UpgradeFacts>;

const noSQL = {
  given: "The operator runs no SQL because spec.operatorAccess.tokenSecretRef is set.",
  disabled: "The operator runs no SQL because spec.operatorAccess.disabled is set.",
  unknown: "The operator does not know the database.",
  cloudIdentity:
    "The operator runs no SQL because coderd logs in to its database with the cloud identity of its pod.",
};

function whyNoSQL({ kind }: AccessFailure): string {
  return kind === "cloudIdentity" ? noSQL.cloudIdentity : noSQL.unknown;
}

/** Looks at the database, where the operator has one to look at. */
export async function askDatabase({ snapshot, environment }: UpgradeRun): Promise<Asked> {
  const { operatorAccess } = snapshot.controlPlane;
  if (operatorAccess.kind !== "generated") return { database: { why: noSQL[operatorAccess.kind] } };
  const url = connectionUrl(snapshot);
  if (!url.ok) return { database: isWithoutDatabase(url.failure) ? { why: whyNoSQL(url.failure) } : url };
  const others = snapshot.upgrade.others();
  const tokenNames = others.map((other) => other.tokenName);
  const sight = await environment.ports.database.look(snapshot.databaseAt(url.value), tokenNames);
  if (!sight.ok) return { database: sight };
  const shared = others.filter((other) => sight.value.tokenNames.includes(other.tokenName));
  return { database: sight, neighbours: shared.map(({ name }) => name) };
}

/** Counts the builds that run now. */
export async function askBuilds(run: UpgradeRun): Promise<Asked> {
  const token = run.isServed ? usableToken(run.snapshot) : undefined;
  return { builds: token ? await countBuilds(coderdClient(token, run)) : "unknown" };
}

/** Reads how far the backup is. */
export async function askBackup({ snapshot }: UpgradeRun, { record }: UpgradeFacts): Promise<Asked> {
  return { backup: record ? await snapshot.upgrade.backupOf(record) : { kind: "none" } };
}

/** The version that answers behind coderd's Service. */
export async function askVersion(run: UpgradeRun): Promise<Asked> {
  const build = await coderdClient(undefined, run).buildInfo();
  return { reported: build.ok ? succeeded(build.value.version) : build };
}
