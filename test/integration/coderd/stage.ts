import type { ClusterAccess } from "kube-controller-runtime/testing";
import { type PostgresCoderdDatabase, PostgresDatabases } from "../../../lab/coderd-database/postgres.ts";
import type { Databases } from "../../../lab/postgres.ts";
import { sharedPostgres } from "../../support/shared-postgres.ts";
import * as stages from "../../support/stages/coderd.ts";
import { openRealWorld, type RealWorld } from "../../support/world/real.ts";

export type Coderd = stages.Coderd<PostgresCoderdDatabase>;
export type CoderdStage = stages.CoderdStage<PostgresCoderdDatabase> & { readonly world: RealWorld };
export { urlVariable } from "../../support/stages/coderd.ts";

/** A stage of real parts: a cluster, sockets to coderd, and a Postgres, the one of the run when absent. */
export async function openCoderdStage(
  cluster: ClusterAccess,
  prefix: string,
  { operator = true, postgres = sharedPostgres() as Databases } = {},
): Promise<CoderdStage> {
  const world = await openRealWorld(cluster);
  const databases = new PostgresDatabases(postgres, world.clock);
  return (await stages.openCoderdStage(world, databases, { prefix, operator })) as CoderdStage;
}
