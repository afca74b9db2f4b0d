import type { ObjectRef, Stored } from "kube-controller-runtime";
import type { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import { variableSources } from "../pods/env-sources.ts";
import { restartSources } from "../pods/restart.ts";
import { addressVariables } from "./address.ts";
import { type ControlPlane, withDefaults } from "./spec.ts";

/** The variable with which coderd, and so the operator, finds its database. */
export const databaseVariable = "CODER_PG_CONNECTION_URL";

const variables = [...addressVariables, databaseVariable];

/** The Secrets whose content matters to the operator; of those that only pods read, what may restart them. */
export function secretNames({ license, operatorAccess, pod }: ControlPlane): string[] {
  const trusted =
    pod.tlsSecretNames.length > 0 ? [...pod.tlsSecretNames, ...pod.authorities.map(({ name }) => name)] : [];
  const given = operatorAccess.kind === "given" ? [operatorAccess.token.name] : [];
  const own = license ? [license.name] : [];
  return [
    ...own,
    ...given,
    ...trusted,
    ...restartSources(pod).secrets,
    ...variableSources("Secret", variables, pod),
  ];
}

export function configMapNames({ pod }: ControlPlane): string[] {
  return [...restartSources(pod).configMaps, ...variableSources("ConfigMap", variables, pod)];
}

export function referencedSecrets(object: Stored<CoderControlPlane>): ObjectRef[] {
  return refsOf(secretNames, object);
}

export function referencedConfigMaps(object: Stored<CoderControlPlane>): ObjectRef[] {
  return refsOf(configMapNames, object);
}

function refsOf(names: typeof secretNames, object: Stored<CoderControlPlane>): ObjectRef[] {
  const controlPlane = withDefaults(object);
  const { namespace } = controlPlane.identity;
  return names(controlPlane).map((name) => ({ namespace, name }));
}
