import {
  CONTROLLER_INDEX,
  keyOf,
  type Owner,
  type RunContext,
  type Environment as RunEnvironment,
  Secret,
  type Service,
  type Stored,
} from "kube-controller-runtime";
import { CoderWorkspaceProxy } from "../../api/v1alpha1/kinds.ts";
import type { WorkspaceProxyStatus } from "../../api/v1alpha1/workspace-proxy.ts";
import {
  controlPlaneService,
  type ObservedControlPlane,
  observeControlPlane,
} from "../coderd/find-control-plane.ts";
import type { CoderPorts } from "../coderd/ports.ts";
import { sessionSources } from "../coderd/session.ts";
import { commonLabels } from "../names.ts";
import { readSecretValue } from "../secret-value.ts";
import { gatherSources, referencesTo, type SourceNames, type Sources } from "../sources.ts";
import { variableSources } from "../workload/env-sources.ts";
import { observePods, observeService, type PodsSnapshot, type ServiceSnapshot } from "../workload/observe.ts";
import { restartSources } from "../workload/restart.ts";
import { ownURLVariables } from "./deployment.ts";
import type { Memory } from "./memory.ts";
import { controlPlaneNameOf, registrationOf, type WorkspaceProxy, withDefaults } from "./spec.ts";

/** A workspace proxy in one reconcile: everything that was read from the cluster, and the time. */
export interface Snapshot extends PodsSnapshot, ServiceSnapshot {
  readonly object: Stored<CoderWorkspaceProxy>;
  readonly proxy: WorkspaceProxy;
  /** The referenced control plane, if it exists. */
  readonly controlPlane: ObservedControlPlane | undefined;
  /** The Service with the name of that control plane's. */
  readonly coderdService: Stored<Service> | undefined;
  /** Secrets that the operator created for this proxy. */
  readonly secrets: readonly Stored<Secret>[];
  /** The token that the operator stored for the proxy. Undefined if the spec contains a token. */
  readonly keptToken: string | undefined;
  /** Secrets and ConfigMaps that the spec refers to. */
  readonly sources: Sources;
}

export type Environment = RunEnvironment<CoderWorkspaceProxy, WorkspaceProxyStatus, Memory, CoderPorts>;

export async function observe(
  object: Stored<CoderWorkspaceProxy>,
  context: RunContext,
  memory: Memory,
): Promise<Snapshot> {
  const { caches } = context;
  const proxy = withDefaults(object);
  const { namespace } = proxy.identity;
  const owner = { kind: CoderWorkspaceProxy, object, labels: commonLabels(proxy) };
  const ref = { namespace, name: controlPlaneNameOf(proxy) };
  const controlPlane = observeControlPlane(ref, caches);
  const sources = await gatherSources(namespace, sourceNames(object, controlPlane), context);
  const secrets = caches.of(Secret).byIndex(CONTROLLER_INDEX, object.metadata.uid);
  return {
    object,
    proxy,
    ...(await observePods(proxy, owner, { context, memory })),
    ...observeService(proxy, context),
    controlPlane,
    coderdService: controlPlaneService(ref, caches),
    secrets,
    keptToken: keptToken(proxy, owner, context),
    sources,
  };
}

/**
 * The token in the current Secret or, after a rename, in the previous one. Ignores foreign Secrets and blank
 * values.
 */
function keptToken(
  proxy: WorkspaceProxy,
  owner: Owner,
  { caches, children }: RunContext,
): string | undefined {
  const registration = registrationOf(proxy);
  if (!registration) return undefined;
  const { name, key } = registration.token;
  const secrets = caches.of(Secret);
  const named = secrets.get(keyOf({ namespace: proxy.identity.namespace, name }));
  const all = [...(named ? [named] : []), ...secrets.byIndex(CONTROLLER_INDEX, proxy.identity.uid)];
  const ours = all.filter((secret) => children.owns(secret, owner));
  return ours.map((secret) => readSecretValue(secret, key)?.trim()).find(Boolean);
}

type ControlPlane = ObservedControlPlane | undefined;

/** Secrets and ConfigMaps whose content the operator uses, and those that restart pods when they change. */
function sourceNames(object: Stored<CoderWorkspaceProxy>, controlPlane: ControlPlane): SourceNames {
  const proxy = withDefaults(object);
  const { tokens = [], secrets, configMaps = [] } = credentialSources(proxy, controlPlane);
  const restarting = restartSources(proxy.pod, object);
  const urls = (kind: "Secret" | "ConfigMap") => variableSources(kind, ownURLVariables, proxy.pod);
  return {
    tokens,
    secrets: [...secrets, ...restarting.secrets, ...urls("Secret")],
    configMaps: [...configMaps, ...restarting.configMaps, ...urls("ConfigMap")],
  };
}

export const references = referencesTo((object: Stored<CoderWorkspaceProxy>, caches) => {
  const proxy = withDefaults(object);
  const { namespace } = proxy.identity;
  return sourceNames(object, observeControlPlane({ namespace, name: controlPlaneNameOf(proxy) }, caches));
});

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
