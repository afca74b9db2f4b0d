import { keyChecksum } from "../hashes.ts";
import type { Snapshot } from "../observe.ts";
import type { KeyInUse } from "../rollout.ts";
import { appliedKey } from "./record.ts";
import { type KeyState, statusOf } from "./settle.ts";
import { valueAt } from "./stored.ts";

/** The key that status records and a Secret holds: what pods run with, whatever is about to replace it. */
export function keyInUse(
  state: Pick<KeyState, "object" | "unwritten" | "secrets">,
  { provisioner }: Pick<Snapshot, "provisioner">,
): KeyInUse | undefined {
  const { secretRef: place = provisioner.key.secret, controlPlaneURL: coderURL } = appliedKey(
    statusOf(state),
  );
  const value = valueAt(state.secrets, place);
  return value === undefined ? undefined : { place, value, checksum: keyChecksum(value), coderURL };
}
