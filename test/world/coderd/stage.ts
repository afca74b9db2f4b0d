import { type MemoryDatabase, MemoryDatabases } from "../../../lab/coderd-database/memory.ts";
import * as stages from "../../support/stages/coderd.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

export type Coderd = stages.Coderd<MemoryDatabase>;
export type CoderdOptions = stages.CoderdOptions<MemoryDatabase>;
export type CoderdStage = stages.CoderdStage<MemoryDatabase> & { readonly databases: MemoryDatabases };
export { urlVariable } from "../../support/stages/coderd.ts";

/** A stage in a world of its own, with databases in memory. */
export async function openCoderdStage({ operator = true } = {}): Promise<CoderdStage> {
  const world = new MemoryWorld();
  const databases = new MemoryDatabases(world.clock);
  return (await stages.openCoderdStage(world, databases, { operator })) as CoderdStage;
}
