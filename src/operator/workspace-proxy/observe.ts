import {
  CONTROLLER_INDEX,
  Deployment,
  type Kind,
  keyOf,
  type Owner,
  type Pod,
  type RunContext,
  type Environment as RunEnvironment,
  Secret,
  Service,
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
import { missingGatewayKind } from "../workload/exposure/gateway.ts";
import { ingressClasses } from "../workload/exposure/ingress-class.ts";
import { podsOf } from "../workload/pods/our-pods.ts";
import { observeRefusal } from "../workload/pods/refusal.ts";
import { observeWarnings, type PodWarnings } from "../workload/pods/warnings.ts";
import { type RemovePod, removeWith } from "../workload/replace-stuck.ts";
import { restartSources } from "../workload/restart.ts";
import { ownURLVariables } from "./deployment.ts";
import type { Memory } from "./memory.ts";
import { controlPlaneNameOf, registrationOf, type WorkspaceProxy, withDefaults } from "./spec.ts";

/** A workspace proxy in one reconcile: everything that was read from the cluster, and the time. */
export interface Snapshot {
  readonly now: number;
  readonly object: Stored<CoderWorkspaceProxy>;
  readonly proxy: WorkspaceProxy;
  readonly owner: Owner;
  /** The referenced control plane, if it exists. */
  readonly controlPlane: ObservedControlPlane | undefined;
  /** The Service with the name of that control plane's. */
  readonly coderdService: Stored<Service> | undefined;
  /** The Service with the name of this proxy's, regardless of its owner. */
  readonly service: Stored<Service> | undefined;
  /** Secrets that the operator created for this proxy. */
  readonly secrets: readonly Stored<Secret>[];
  /** The token that the operator stored for the proxy. Undefined if the spec contains a token. */
  readonly keptToken: string | undefined;
  /** The Deployment of this proxy, not a conflicting one with its name. */
  readonly deployment: Stored<Deployment> | undefined;
  readonly pods: readonly Stored<Pod>[];
  readonly removePod: RemovePod;
  readonly warnings: PodWarnings;
  /** Why pods of the newest template are rejected. */
  readonly refusal: string | undefined;
  /** A kind of the Gateway API that the cluster lacks. */
  readonly missingGatewayKind: Kind | undefined;
  /** Names of the ingress classes. Absent if the operator is not permitted to read them. */
  readonly ingressClasses: readonly string[] | undefined;
  /** Secrets and ConfigMaps that the spec refers to. */
  readonly sources: Sources;
}

export type Environment = RunEnvironment<CoderWorkspaceProxy, WorkspaceProxyStatus, Memory, CoderPorts>;

export async function observe(
  object: Stored<CoderWorkspaceProxy>,
  context: RunContext,
  memory: Memory,
): Promise<Snapshot> {
  const { caches, children, clock } = context;
  const proxy = withDefaults(object);
  const { namespace } = proxy.identity;
  const owner = { kind: CoderWorkspaceProxy, object, labels: commonLabels(proxy) };
  const ref = { namespace, name: controlPlaneNameOf(proxy) };
  const controlPlane = observeControlPlane(ref, caches);
  const deployment = caches.of(Deployment).get(keyOf({ namespace, name: proxy.childName }));
  const sources = await gatherSources(namespace, sourceNames(object, controlPlane), context);
  const secrets = caches.of(Secret).byIndex(CONTROLLER_INDEX, object.metadata.uid);
  const pods = podsOf(proxy, caches);
  return {
    now: clock.now(),
    object,
    proxy,
    owner,
    controlPlane,
    coderdService: controlPlaneService(ref, caches),
    service: caches.of(Service).get(keyOf({ namespace, name: proxy.childName })),
    secrets,
    keptToken: keptToken(proxy, owner, context),
    deployment: deployment && children.owns(deployment, owner) ? deployment : undefined,
    pods,
    removePod: removeWith(context),
    warnings: await observeWarnings(pods, context, memory),
    refusal: await observeRefusal(deployment, context),
    missingGatewayKind: missingGatewayKind(proxy.exposure, caches),
    ingressClasses: ingressClasses(caches),
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
