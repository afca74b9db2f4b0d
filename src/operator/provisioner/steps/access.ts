import { findCondition, type StepResult } from "kube-controller-runtime";
import type { CoderClient } from "../../../coder/client.ts";
import {
  type FoundControlPlane,
  openSession,
  operatorToken,
  operatorTokenRef,
  type TokenUse,
  tokenFrom,
} from "../../control-plane/session.ts";
import type { SecretKey } from "../../normalise.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { conditionTypes } from "../status.ts";
import { type Result, waiting } from "./result.ts";

/** A way to speak to the control plane's coderd. */
export interface Session {
  readonly controlPlane: FoundControlPlane;
  readonly client: CoderClient;
  readonly token: string;
  readonly credentialsSecretRef: SecretKey;
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
  controlPlane: FoundControlPlane | undefined,
  snapshot: Snapshot,
  environment: Environment,
): Promise<Result<Session>> {
  const { session: bootstrap, identity } = snapshot.provisioner;
  const { context, memory } = environment;
  const { namespace } = identity;
  const found: StepResult<object, string> = bootstrap
    ? await tokenFrom(bootstrap, { namespace, context, recipient: recipientOf(controlPlane) })
    : controlPlane
      ? await operatorToken(controlPlane, context)
      : waiting(conditionTypes.operatorAccess, "waits for the control plane", snapshot);
  const { value: token, ...result } = found;
  const ref = bootstrap ?? (controlPlane && operatorTokenRef(controlPlane.settings, controlPlane.status));
  if (!token || !controlPlane || !ref) return result;
  memory.session = { url: controlPlane.url, token };
  const client = await openSession(controlPlane.settings, { url: controlPlane.url, token }, environment);
  return { ...result, value: { controlPlane, client, token, credentialsSecretRef: ref } };
}

function recipientOf(controlPlane: FoundControlPlane | undefined): TokenUse["recipient"] {
  return controlPlane ? { controlPlaneUID: controlPlane.settings.identity.uid } : "elsewhere";
}

/** Other credentials were used before: what was wrong with those no longer matters. */
export async function forgetUnused(type: string, { object }: Snapshot): Promise<Result> {
  if (!findCondition(object.status?.conditions, type)) return {};
  const message = "other credentials are used, as spec.bootstrap says";
  return { condition: { status: "Unknown", reason: "NotUsed", message } };
}
