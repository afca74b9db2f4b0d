import type { Caches, ObjectRef, Stored } from "kube-controller-runtime";
import type { CoderWorkspaceProxy } from "../../api/v1alpha1/kinds.ts";
import { type ObservedControlPlane, observeControlPlane } from "../control-plane/session/find.ts";
import { sessionSources } from "../control-plane/session/open.ts";
import { variableSources } from "../pods/env-sources.ts";
import { restartSources } from "../pods/restart.ts";
import { configMapRefs, type SourceNames, secretRefs } from "../sources.ts";
import { ownURLVariables } from "./resources/own-url.ts";
import { controlPlaneNameOf, type WorkspaceProxy, withDefaults } from "./spec.ts";

type ControlPlane = ObservedControlPlane | undefined;

/** The Secrets and ConfigMaps whose content matters to the operator; of those that only pods read, what may restart them. */
export function sourceNames(proxy: WorkspaceProxy, controlPlane: ControlPlane): SourceNames {
  const { tokens = [], secrets, configMaps = [] } = credentialSources(proxy, controlPlane);
  const restarting = restartSources(proxy.pod);
  const urls = (kind: "Secret" | "ConfigMap") => variableSources(kind, ownURLVariables, proxy.pod);
  return {
    tokens,
    secrets: [...secrets, ...restarting.secrets, ...urls("Secret")],
    configMaps: [...configMaps, ...restarting.configMaps, ...urls("ConfigMap")],
  };
}

export function referencedSecrets(object: Stored<CoderWorkspaceProxy>, caches: Caches): ObjectRef[] {
  const { namespace, names } = namesOf(object, caches);
  return secretRefs(namespace, names, caches);
}

export function referencedConfigMaps(object: Stored<CoderWorkspaceProxy>, caches: Caches): ObjectRef[] {
  const { namespace, names } = namesOf(object, caches);
  return configMapRefs(namespace, names);
}

function namesOf(object: Stored<CoderWorkspaceProxy>, caches: Caches) {
  const proxy = withDefaults(object);
  const { namespace } = proxy.identity;
  const controlPlane = observeControlPlane({ namespace, name: controlPlaneNameOf(proxy) }, caches);
  return { namespace, names: sourceNames(proxy, controlPlane) };
}

function credentialSources({ credentials, pod }: WorkspaceProxy, controlPlane: ControlPlane): SourceNames {
  switch (credentials.kind) {
    case "controlPlane":
      return controlPlane ? sessionSources(controlPlane) : { secrets: [] };
    case "bootstrap":
      return { tokens: [credentials.session.name], secrets: pod.authorities.map(({ name }) => name) };
    case "given":
      return { tokens: [credentials.token.name], secrets: [] };
    case "none":
      return { secrets: [] };
  }
}
