import { find, refOf, Secret, type Stored } from "kube-controller-runtime";
import { CoderProvisioner } from "../../../api/v1alpha1/kinds.ts";
import { appliedKey } from "./record.ts";
import type { KeyRun, KeyState, Progress } from "./settle.ts";

/**
 * Reads the provisioner and its Secrets past the caches. Those may lag behind, even behind a write of our own
 * whose answer was lost, and what cannot be undone must not be decided on the past.
 */
export async function refresh(state: KeyState, { snapshot, environment, wanted }: KeyRun): Promise<Progress> {
  const { children, client } = environment.context;
  const object = await find(client, CoderProvisioner, refOf(state.object));
  if (!object || isOvertaken(state.object, object)) return { stop: { why: "overtaken" } };
  const { namespace } = snapshot.provisioner.identity;
  const recorded = appliedKey(object.status).secretRef?.name;
  const cached = state.secrets.map(({ metadata }) => metadata.name);
  const names = new Set([wanted.secretRef.name, ...(recorded ? [recorded] : []), ...cached]);
  const secrets = await Promise.all([...names].map((name) => find(client, Secret, { namespace, name })));
  const present = secrets.filter((secret) => secret !== undefined);
  const owned = present.filter((secret) => children.owns(secret, snapshot.owner));
  return { next: { ...state, object, unwritten: {}, secrets: owned, isFresh: true } };
}

function isOvertaken(observed: Stored<CoderProvisioner>, { metadata }: Stored<CoderProvisioner>): boolean {
  const { uid, generation } = observed.metadata;
  return (
    metadata.uid !== uid || metadata.generation !== generation || metadata.deletionTimestamp !== undefined
  );
}
