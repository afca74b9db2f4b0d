import { CoderProvisioner } from "../../../api/v1alpha1/kinds.ts";
import type { ProvisionerStatus } from "../../../api/v1alpha1/provisioner.ts";
import type { RunContext } from "../../../runtime/controller/controller.ts";
import { mergePatchBetween, writeStatus } from "../../../runtime/controller/status.ts";
import type { Changes } from "../../../runtime/controller/steps.ts";
import type { Stored } from "../../../runtime/object.ts";

type Status = Partial<ProvisionerStatus>;

/**
 * Writes down, in the middle of a run, what must not be forgotten. `changes` may be called again with a newer
 * status. Resolves with `undefined` when a newer spec or the object's deletion came first, so that nothing was
 * written: the run must not go on.
 */
export async function checkpoint(
  object: Stored<CoderProvisioner>,
  changes: (current: Status) => Changes<ProvisionerStatus>,
  { client }: Pick<RunContext, "client">,
): Promise<Stored<CoderProvisioner> | undefined> {
  const update = (current: Status) => ({ ...current, ...changes(current) }) as Status;
  const written = await writeStatus<CoderProvisioner, ProvisionerStatus>(client, {
    kind: CoderProvisioner,
    object,
    update,
  });
  const status = written.status ?? {};
  const isWritten = Object.keys(mergePatchBetween(status, update(status))).length === 0;
  return isWritten ? written : undefined;
}
