import type { Stored } from "kube-controller-runtime";
import type { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import { addressVariables } from "../coderd/address.ts";
import { type ControlPlane, withDefaults } from "../coderd/settings.ts";
import { referencesTo, type SourceNames } from "../sources.ts";
import { variableSources } from "../workload/env-sources.ts";
import { restartSources } from "../workload/restart.ts";

/** The variable with the database URL of coderd, which the operator also uses. */
export const databaseVariable = "CODER_PG_CONNECTION_URL";

/** The variable with the authentication method for the database. */
export const databaseLoginVariable = "CODER_PG_AUTH";

const variables = [...addressVariables, databaseVariable, databaseLoginVariable];

/** Secrets and ConfigMaps whose content the operator uses, and those that restart pods when they change. */
export function sourceNames(
  { firstAdmin, license, operatorAccess, pod }: ControlPlane,
  object: Stored<CoderControlPlane>,
): SourceNames {
  const restarting = restartSources(pod, object);
  const authorities = pod.tlsSecretNames.length > 0 ? pod.authorities : [];
  return {
    secrets: [
      ...(license ? [license.name] : []),
      ...(firstAdmin && !firstAdmin.isGenerated ? [firstAdmin.password.name] : []),
      ...(operatorAccess.kind === "given" ? [operatorAccess.token.name] : []),
      ...pod.tlsSecretNames,
      ...authorities.map(({ name }) => name),
      ...restarting.secrets,
      ...variableSources("Secret", variables, pod),
    ],
    configMaps: [...restarting.configMaps, ...variableSources("ConfigMap", variables, pod)],
  };
}

export const references = referencesTo((object: Stored<CoderControlPlane>) =>
  sourceNames(withDefaults(object), object),
);
