import { blocked } from "kube-controller-runtime";
import type { FoundControlPlane } from "../coderd/find-control-plane.ts";
import type { CoderPorts } from "../coderd/ports.ts";
import { openSession, operatorToken } from "../coderd/session.ts";
import type { Sources } from "../sources.ts";
import { Inside } from "./coderd.ts";
import type { EntityResult } from "./status.ts";

/** A control plane and the token for its coderd. */
export interface Access {
  readonly controlPlane: Pick<FoundControlPlane, "settings" | "status" | "url">;
  readonly token: string;
}

interface Given {
  readonly sources: Sources;
}

/** Finds the operator's token for the control plane. */
export function openAccess(
  controlPlane: FoundControlPlane | undefined,
  { sources }: Given,
): EntityResult<Access> {
  if (!controlPlane) return blocked("Pending", "Waiting for condition ControlPlaneReady.");
  if (controlPlane.status.phase !== "Ready") {
    const { name } = controlPlane.settings.identity;
    return blocked("Pending", `Waiting for a ready pod of CoderControlPlane "${name}".`);
  }
  const { value: token, ...found } = operatorToken(controlPlane, sources);
  return token ? { ...found, value: { controlPlane, token } } : found;
}

export function openInside({ controlPlane, token }: Access, { sources }: Given, ports: CoderPorts): Inside {
  const { settings, url } = controlPlane;
  const client = openSession(settings, { url, token }, { ports, sources });
  return new Inside({ client, url, token, license: licenseOf(controlPlane) }, ports.answers);
}

/** Differs when other features may be included than before. */
export function licenseOf({ status }: Pick<FoundControlPlane, "status">): string {
  return `${status.licenseTier} ${status.licenseLastAppliedHash}`;
}
