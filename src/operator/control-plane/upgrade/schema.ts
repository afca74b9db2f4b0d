import type { UpgradeStatus } from "../../../api/v1alpha1/upgrade.ts";
import type { DatabaseSight } from "../../../coder/operator-access/sight.ts";
import type { UpgradeFacts } from "./facts.ts";

export type SchemaStanding = "unchanged" | "changed" | "unknown" | "noAccess";

/** Whether the schema is that of before the upgrade. While a migration is in progress nobody knows. */
export function schemaStanding(facts: UpgradeFacts, { schemaBefore }: UpgradeStatus): SchemaStanding {
  if (facts.database && "why" in facts.database) return "noAccess";
  const sight = sightOf(facts);
  if (!sight || sight.migration || sight.schema === "locked") return "unknown";
  const version = sight.schema === "missing" ? undefined : sight.schema.version;
  const isDirty = sight.schema !== "missing" && sight.schema.isDirty;
  return version === schemaBefore && !isDirty ? "unchanged" : "changed";
}

/** Whether there is a database that does not answer. */
export function isAway({ database }: UpgradeFacts): boolean {
  return database !== undefined && "ok" in database && !database.ok;
}

export function sightOf({ database }: UpgradeFacts): DatabaseSight | undefined {
  return database && "ok" in database && database.ok ? database.value : undefined;
}
