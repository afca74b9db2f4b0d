import type { CoderClient } from "../../../coder/client.ts";
import type { CoderFailure } from "../../../coder/failure.ts";
import { failed, type Result, succeeded } from "../../../coder/result.ts";
import type { CoderdView, WantedKey } from "../plan.ts";
import type { AppliedKey } from "./record.ts";

/** Asks coderd which keys the wanted organization has. */
export async function lookAtCoderd(
  client: CoderClient,
  wanted: WantedKey,
  applied: AppliedKey,
): Promise<Result<CoderdView, CoderFailure>> {
  const known = knownOrganization(wanted, applied);
  if (known) {
    const keys = await client.provisionerKeys(known);
    if (keys.ok) return succeeded({ organizationID: known, keys: keys.value });
    // An organization that was deleted and made anew has another id.
    if (keys.failure.kind !== "notFound") return keys;
  }
  const organization = await client.organization(wanted.organizationName);
  if (!organization.ok) return failed(explain(organization.failure, wanted));
  const keys = await client.provisionerKeys(organization.value.id);
  return keys.ok ? succeeded({ organizationID: organization.value.id, keys: keys.value }) : keys;
}

/** The organization's id, if it was found under the same name at the same coderd. */
function knownOrganization(wanted: WantedKey, applied: AppliedKey): string | undefined {
  const isSame =
    applied.organizationName === wanted.organizationName &&
    applied.controlPlaneURL === wanted.controlPlaneURL &&
    applied.controlPlaneRefName === wanted.controlPlaneRefName;
  return isSame ? applied.organizationID : undefined;
}

function explain(failure: CoderFailure, { organizationName }: WantedKey): CoderFailure {
  if (failure.kind !== "notFound") return failure;
  const message = `organization "${organizationName}" does not exist at coderd, or the token's user is no member of it; create it or correct spec.organizationName`;
  return { kind: "notFound", message };
}
