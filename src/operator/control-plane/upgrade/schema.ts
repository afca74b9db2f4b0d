import type { UpgradeStatus } from "../../../api/v1alpha1/upgrade.ts";
import type { DatabaseSight } from "../../../coder/operator-access/sight.ts";
import type { AccessFailure } from "../token/failure.ts";
import type { UpgradeFacts } from "./facts.ts";

type Asked = Pick<UpgradeFacts, "database">;

export type SchemaStanding = "unchanged" | "changed" | "unknown" | "noAccess";

/** Whether the schema is that of before the upgrade. While a migration is in progress nobody knows. */
export function schemaStanding(facts: Asked, { schemaBefore }: UpgradeStatus): SchemaStanding {
  if (whyNoAccess(facts)) return "noAccess";
  const sight = sightOf(facts);
  if (!sight || sight.migration || sight.schema === "locked") return "unknown";
  const { version, isDirty = false } = sight.schema === "missing" ? {} : sight.schema;
  return version === schemaBefore && !isDirty ? "unchanged" : "changed";
}

/** Why no SQL may be run. */
export function whyNoAccess({ database }: Asked): string | undefined {
  return database && "why" in database ? database.why : undefined;
}

/** Why a database that may be asked does not answer. */
export function whyAway({ database }: Asked): AccessFailure | undefined {
  return database && "ok" in database && !database.ok ? database.failure : undefined;
}

export function sightOf({ database }: Asked): DatabaseSight | undefined {
  return database && "ok" in database && database.ok ? database.value : undefined;
}
