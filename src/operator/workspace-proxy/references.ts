import type { Caches, ObjectRef, Stored } from "kube-controller-runtime";
import type { CoderWorkspaceProxy } from "../../api/v1alpha1/kinds.ts";
import { accessURLVariable } from "../control-plane/resources/deployment.ts";
import { findControlPlane, sessionSecrets } from "../control-plane/session.ts";
import { variableRefs } from "../pods/env-sources.ts";
import { ownURLVariables } from "./resources/own-url.ts";
import { type WorkspaceProxy, withDefaults } from "./spec.ts";

/** The Secrets whose content matters to the operator; those that only pods read are not among them. */
export function referencedSecrets(object: Stored<CoderWorkspaceProxy>, caches: Caches): ObjectRef[] {
  const proxy = withDefaults(object);
  return [...credentialSecrets(proxy, caches), ...urlRefs("Secret", proxy, caches)];
}

export function referencedConfigMaps(object: Stored<CoderWorkspaceProxy>, caches: Caches): ObjectRef[] {
  return urlRefs("ConfigMap", withDefaults(object), caches);
}

function credentialSecrets({ credentials, identity, pod }: WorkspaceProxy, caches: Caches): ObjectRef[] {
  const { namespace } = identity;
  switch (credentials.kind) {
    case "controlPlane":
      return sessionSecrets({ namespace, name: credentials.name }, caches);
    case "bootstrap":
      return [credentials.session, ...pod.authorities].map(({ name }) => ({ namespace, name }));
    case "given":
      return [{ namespace, name: credentials.token.name }];
    case "none":
      return [];
  }
}

/** Where the URLs of the proxy, and of the coderd that it serves, may come from. */
function urlRefs(kind: "Secret" | "ConfigMap", proxy: WorkspaceProxy, caches: Caches): ObjectRef[] {
  const { credentials, identity, pod } = proxy;
  const { namespace } = identity;
  const own = variableRefs(kind, ownURLVariables, { environment: pod, namespace });
  if (credentials.kind !== "controlPlane") return own;
  const { value: found } = findControlPlane({ namespace, name: credentials.name }, { caches });
  if (!found) return own;
  const { pod: environment } = found.settings;
  return [...own, ...variableRefs(kind, [accessURLVariable], { environment, namespace })];
}
