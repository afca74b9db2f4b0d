import type { CoderClient } from "../../../coder/client.ts";
import { type CoderFailure, mayPass } from "../../../coder/failure.ts";
import type { ProvisionerKey } from "../../../coder/model.ts";
import { isSameService } from "../../exposure/service.ts";
import type { Provisioner } from "../spec.ts";
import { appliedKey, type KeyRecord } from "./record.ts";
import { keyInUse } from "./secret.ts";
import { type KeyState, statusOf } from "./state.ts";

/** A key whose secret we have, so that coderd can be asked for it without the right to list keys. */
export interface Witness {
  readonly id: string;
  readonly secret: string;
  readonly organizationID: string | undefined;
  readonly controlPlaneURL: string | undefined;
}

/** The key in use, if a Secret holds it. */
export function witnessOf(
  state: Pick<KeyState, "object" | "unwritten" | "secrets">,
  provisioner: Provisioner,
): Witness | undefined {
  const { id, organizationID, controlPlaneURL } = appliedKey(statusOf(state));
  const secret = keyInUse(state, provisioner)?.value;
  return id && secret ? { id, secret, organizationID, controlPlaneURL } : undefined;
}

/**
 * Why a list that lacks a key is no proof that the key is gone: it also lacks one of the same organization that coderd
 * accepts. `undefined` when nothing speaks against it. No other coderd is ever sent the secret.
 */
export async function whyHidden(
  record: KeyRecord,
  witness: Witness | undefined,
  { client, listed }: { readonly client: CoderClient; readonly listed: readonly ProvisionerKey[] },
): Promise<CoderFailure | undefined> {
  if (!witness || listed.some(({ id }) => id === witness.id)) return undefined;
  const isNeighbour =
    record.organizationID === witness.organizationID &&
    isSameService(record.controlPlaneURL, witness.controlPlaneURL);
  if (!isNeighbour) return undefined;
  const answer = await client.provisionerKeyOf(witness.secret);
  if (answer.ok) return answer.value?.id === witness.id ? hidden : undefined;
  return mayPass(answer.failure) ? answer.failure : undefined;
}

const hidden: CoderFailure = {
  kind: "forbidden",
  why: "notPermitted",
  message:
    "The token's user may not read provisioner keys, so that it can't be told whether the key is gone; use the token of an owner.",
};
