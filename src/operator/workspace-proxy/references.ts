import type { Caches, ObjectRef, Stored } from "kube-controller-runtime";
import type { CoderWorkspaceProxy } from "../../api/v1alpha1/kinds.ts";
import { accessURLVariable } from "../control-plane/resources/deployment.ts";
import { type ObservedControlPlane, observeControlPlane } from "../control-plane/session/find.ts";
import { sessionSecrets } from "../control-plane/session/open.ts";
import { variableSources } from "../pods/env-sources.ts";
import { type SourceNames, secretRefs } from "../sources.ts";
import { ownURLVariables } from "./resources/own-url.ts";
import { controlPlaneNameOf, type WorkspaceProxy, withDefaults } from "./spec.ts";

type ControlPlane = ObservedControlPlane | undefined;

/** The Secrets and ConfigMaps whose content matters to the operator; those that only pods read are not among them. */
export function sourceNames(proxy: WorkspaceProxy, controlPlane: ControlPlane): SourceNames {
  const { tokens, secrets } = credentialSecrets(proxy, controlPlane);
  return {
    tokens,
    secrets: [...secrets, ...urlSources("Secret", proxy, controlPlane)],
    configMaps: urlSources("ConfigMap", proxy, controlPlane),
  };
}

export function referencedSecrets(object: Stored<CoderWorkspaceProxy>, caches: Caches): ObjectRef[] {
  const { namespace, names } = namesOf(object, caches);
  return secretRefs(namespace, names, caches);
}

export function referencedConfigMaps(object: Stored<CoderWorkspaceProxy>, caches: Caches): ObjectRef[] {
  const { namespace, names } = namesOf(object, caches);
  return [...(names.configMaps ?? [])].map((name) => ({ namespace, name }));
}

function namesOf(object: Stored<CoderWorkspaceProxy>, caches: Caches) {
  const proxy = withDefaults(object);
  const { namespace } = proxy.identity;
  const controlPlane = observeControlPlane({ namespace, name: controlPlaneNameOf(proxy) }, caches);
  return { namespace, names: sourceNames(proxy, controlPlane) };
}

function credentialSecrets({ credentials, pod }: WorkspaceProxy, controlPlane: ControlPlane) {
  switch (credentials.kind) {
    case "controlPlane":
      return controlPlane ? sessionSecrets(controlPlane) : { tokens: [], secrets: [] };
    case "bootstrap":
      return { tokens: [credentials.session.name], secrets: pod.authorities.map(({ name }) => name) };
    case "given":
      return { tokens: [credentials.token.name], secrets: [] };
    case "none":
      return { tokens: [], secrets: [] };
  }
}

/** Where the URLs of the proxy, and of the coderd that it serves, may come from. */
function urlSources(
  kind: "Secret" | "ConfigMap",
  { pod }: WorkspaceProxy,
  controlPlane: ControlPlane,
): string[] {
  const own = variableSources(kind, ownURLVariables, pod);
  if (!controlPlane) return own;
  return [...own, ...variableSources(kind, [accessURLVariable], controlPlane.settings.pod)];
}
