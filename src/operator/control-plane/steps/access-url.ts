import { blocked, findCondition } from "kube-controller-runtime";
import { usersAccessURL } from "../address.ts";
import type { Snapshot } from "../observe.ts";
import { conditionTypes } from "../status.ts";
import type { ControlPlaneResult } from "./result.ts";

/**
 * Warns while the environment sends users to another host than the exposure serves. Only hosts are shown: a URL from a
 * Secret may hold more.
 */
export async function compareAccessURL({
  controlPlane,
  object,
  sources,
}: Snapshot): Promise<ControlPlaneResult> {
  const { exposure } = controlPlane;
  const users = usersAccessURL(controlPlane, sources);
  const host = users === undefined ? undefined : URL.parse(users)?.hostname;
  if (exposure.kind !== "none" && host !== undefined && host !== exposure.host.toLowerCase()) {
    const message = `CODER_ACCESS_URL sends users to host "${host}", but spec.expose serves host "${exposure.host}"; correct one of them, or remove CODER_ACCESS_URL and set spec.expose.setAccessURL.`;
    return blocked("HostDiffers", message);
  }
  return findCondition(object.status?.conditions, conditionTypes.accessURL) ? { noCondition: true } : {};
}
