import { findCondition, type StepResult } from "kube-controller-runtime";
import type { CoderClient } from "../../../coder/client.ts";
import type { FoundControlPlane } from "../../control-plane/session/find.ts";
import {
  openSession,
  operatorToken,
  operatorTokenRef,
  type Recipient,
  tokenFrom,
} from "../../control-plane/session/open.ts";
import type { DaemonSight } from "../../daemons/observer.ts";
import type { SecretKey } from "../../normalise.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { conditionTypes, type ProvisionerResult, waiting } from "../status.ts";

/** A session at the control plane's coderd. */
export interface ProvisionerSession {
  readonly controlPlane: FoundControlPlane;
  readonly client: CoderClient;
  readonly token: string;
  readonly credentialsSecretRef: SecretKey;
  /** The daemons of an organization, from an answer that all pools with the same credentials share. */
  readonly observeDaemons: (organizationId: string, maxAgeMs: number) => Promise<DaemonSight>;
}

/** The condition of the credentials that count, and the one of those that do not. */
export function accessConditions({ provisioner }: Snapshot): { used: string; unused: string } {
  const { operatorAccess, bootstrapSecret } = conditionTypes;
  return provisioner.session
    ? { used: bootstrapSecret, unused: operatorAccess }
    : { used: operatorAccess, unused: bootstrapSecret };
}

/** Finds the token to use: the user's own if the spec names one, else that of the control plane. */
export async function openAccess(
  snapshot: Snapshot,
  { memory, ports }: Environment,
  controlPlane: FoundControlPlane | undefined,
): Promise<ProvisionerResult<ProvisionerSession>> {
  const { provisioner, sources } = snapshot;
  const { session: bootstrap } = provisioner;
  const found: StepResult<object, string> = bootstrap
    ? tokenFrom(bootstrap, sources, recipientOf(controlPlane))
    : controlPlane
      ? operatorToken(controlPlane, sources)
      : waiting(conditionTypes.operatorAccess, "Waiting for condition ControlPlaneReady.", snapshot);
  const { value: token, ...result } = found;
  const ref = bootstrap ?? (controlPlane && operatorTokenRef(controlPlane.settings, controlPlane.status));
  if (!token || !controlPlane || !ref) return result;
  const { url } = controlPlane;
  memory.session = { url, token };
  const client = openSession(controlPlane.settings, { url, token }, { ports, sources });
  const observeDaemons = (organizationId: string, maxAgeMs: number) =>
    ports.daemons.observe({ client, url, token, organizationId, maxAgeMs });
  return { ...result, value: { controlPlane, client, token, credentialsSecretRef: ref, observeDaemons } };
}

function recipientOf(controlPlane: FoundControlPlane | undefined): Recipient {
  return controlPlane ? { controlPlaneUID: controlPlane.settings.identity.uid } : "elsewhere";
}

/** Other credentials were used before: what was wrong with those no longer matters. */
export async function forgetUnused(
  { object, provisioner }: Snapshot,
  type: string,
): Promise<ProvisionerResult> {
  if (!findCondition(object.status?.conditions, type)) return {};
  const message = provisioner.session
    ? "The provisioner uses the token of spec.bootstrap instead of the operator's."
    : "The provisioner uses the operator's token, because spec.bootstrap is not set.";
  return { condition: { status: "Unknown", reason: "NotUsed", message } };
}
