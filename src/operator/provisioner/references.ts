import type { Caches, ObjectRef, Stored } from "kube-controller-runtime";
import type { CoderProvisioner } from "../../api/v1alpha1/kinds.ts";
import { type ObservedControlPlane, observeControlPlane } from "../control-plane/session/find.ts";
import { sessionSources } from "../control-plane/session/open.ts";
import { restartSources } from "../pods/restart.ts";
import { configMapRefs, type SourceNames, secretRefs } from "../sources.ts";
import { recordedKeys } from "./key/record.ts";
import { type Provisioner, withDefaults } from "./spec.ts";

type ControlPlanes = ReadonlyMap<string, ObservedControlPlane>;

/** The control planes, by name, of the spec and of all keys that were made, as far as they exist. */
export function namedControlPlanes(object: Stored<CoderProvisioner>, caches: Caches): ControlPlanes {
  const { controlPlaneName, identity } = withDefaults(object);
  const recorded = recordedKeys(object.status).map(({ controlPlaneRefName }) => controlPlaneRefName);
  const found = [...new Set([controlPlaneName, ...recorded])].flatMap((name = "") => {
    const observed = observeControlPlane({ namespace: identity.namespace, name }, caches);
    return observed ? [[name, observed] as const] : [];
  });
  return new Map(found);
}

/** What sessions at these control planes need, and what may restart the pods. */
export function sourceNames({ session, pod }: Provisioner, controlPlanes: ControlPlanes): SourceNames {
  const needed = [...controlPlanes.values()].map(sessionSources);
  const restarting = restartSources(pod);
  return {
    tokens: [...(session ? [session.name] : []), ...needed.flatMap(({ tokens }) => [...tokens])],
    secrets: [...needed, restarting].flatMap(({ secrets }) => [...secrets]),
    configMaps: [...needed, restarting].flatMap(({ configMaps }) => [...configMaps]),
  };
}

export function referencedSecrets(object: Stored<CoderProvisioner>, caches: Caches): ObjectRef[] {
  const provisioner = withDefaults(object);
  const names = sourceNames(provisioner, namedControlPlanes(object, caches));
  return secretRefs(provisioner.identity.namespace, names, caches);
}

export function referencedConfigMaps(object: Stored<CoderProvisioner>, caches: Caches): ObjectRef[] {
  const provisioner = withDefaults(object);
  const names = sourceNames(provisioner, namedControlPlanes(object, caches));
  return configMapRefs(provisioner.identity.namespace, names);
}
