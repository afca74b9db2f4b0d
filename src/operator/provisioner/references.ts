import type { ObjectRef, RunContext, Stored } from "kube-controller-runtime";
import type { CoderProvisioner } from "../../api/v1alpha1/kinds.ts";
import { sessionSecrets } from "../control-plane/session.ts";
import { withDefaults } from "./spec.ts";

/** The Secrets of others that a provisioner needs to speak to coderd. */
export function referencedSecrets(
  object: Stored<CoderProvisioner>,
  caches: RunContext["caches"],
): ObjectRef[] {
  const { identity, controlPlaneName, session } = withDefaults(object);
  const { namespace } = identity;
  const own = session ? [{ namespace, name: session.name }] : [];
  return [...own, ...sessionSecrets({ namespace, name: controlPlaneName }, caches)];
}
