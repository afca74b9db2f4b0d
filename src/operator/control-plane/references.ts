import type { ObjectRef, Stored } from "kube-controller-runtime";
import type { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import { variableRefs } from "../pods/env-sources.ts";
import { accessURLVariable } from "./resources/deployment.ts";
import { withDefaults } from "./spec.ts";

/** The variable with which coderd, and so the operator, finds its database. */
export const databaseVariable = "CODER_PG_CONNECTION_URL";

const variables = [accessURLVariable, databaseVariable];

/** The Secrets whose content matters to the operator; those that only pods read are not among them. */
export function referencedSecrets(object: Stored<CoderControlPlane>): ObjectRef[] {
  const { identity, license, operatorAccess, pod } = withDefaults(object);
  const { namespace } = identity;
  const trusted =
    pod.tlsSecretNames.length > 0 ? [...pod.tlsSecretNames, ...pod.authorities.map(({ name }) => name)] : [];
  const given = operatorAccess.kind === "given" ? [operatorAccess.token.name] : [];
  const named = [...(license ? [license.name] : []), ...given, ...trusted].map((name) => ({
    namespace,
    name,
  }));
  return [...named, ...variableRefs("Secret", variables, { environment: pod, namespace })];
}

export function referencedConfigMaps(object: Stored<CoderControlPlane>): ObjectRef[] {
  const { identity, pod } = withDefaults(object);
  return variableRefs("ConfigMap", variables, { environment: pod, namespace: identity.namespace });
}
