import type { Environment as SharedEnvironment } from "kube-controller-runtime";
import {
  Deployment,
  keyOf,
  type Owner,
  type Pod,
  type RunContext,
  type Stored,
} from "kube-controller-runtime";
import { CoderWorkspaceProxy } from "../../api/v1alpha1/kinds.ts";
import { commonLabels } from "../names.ts";
import { podsOf } from "../pods/our-pods.ts";
import type { CoderPorts } from "../ports.ts";
import { keptValue } from "./kept-secret.ts";
import type { Memory } from "./memory.ts";
import { registrationOf, type WorkspaceProxy, withDefaults } from "./spec.ts";

/** A workspace proxy as one run sees it: read once from the caches, the time included. */
export interface Snapshot {
  readonly now: number;
  readonly object: Stored<CoderWorkspaceProxy>;
  readonly proxy: WorkspaceProxy;
  readonly owner: Owner;
  /** The token that the operator keeps for the proxy; none for a proxy that brings its own. */
  readonly keptToken: string | undefined;
  /** That of this proxy, not one of somebody else that has its name. */
  readonly deployment: Stored<Deployment> | undefined;
  readonly pods: readonly Stored<Pod>[];
}

export type Environment = SharedEnvironment<Memory, CoderPorts>;

export function observe(object: Stored<CoderWorkspaceProxy>, context: RunContext): Snapshot {
  const { caches, children, clock } = context;
  const proxy = withDefaults(object);
  const owner = { kind: CoderWorkspaceProxy, object, labels: commonLabels(proxy) };
  const registration = registrationOf(proxy);
  const { namespace } = proxy.identity;
  const deployment = caches.of(Deployment).get(keyOf({ namespace, name: proxy.childName }));
  return {
    now: clock.now(),
    object,
    proxy,
    owner,
    keptToken: registration && keptValue(registration.token, owner, context)?.value,
    deployment: deployment && children.owns(deployment, owner) ? deployment : undefined,
    pods: podsOf(proxy, caches),
  };
}
