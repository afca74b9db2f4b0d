import type { V1LabelSelector, V1NetworkPolicy, V1NetworkPolicyIngressRule } from "@kubernetes/client-node";
import { kind, type Stored, type Wire } from "kube-controller-runtime";
import { CoderControlPlane } from "../../../api/v1alpha1/kinds.ts";
import { APPS, commonLabels, identityOf, type Labels } from "../../../operator/names.ts";
import type { Cluster } from "../../cluster.ts";
import type { Gaps } from "../../gaps.ts";
import { type Found, typedName } from "../../objects.ts";
import { type Finding, finding, some } from "./report.ts";

type NetworkPolicy = Wire<V1NetworkPolicy>;
const NetworkPolicy = kind<NetworkPolicy>("networking.k8s.io/v1", {
  kind: "NetworkPolicy",
  plural: "networkpolicies",
});

/** On which replicas of coderd connect to each other: relays, and messages after Coder 2.36. */
const REPLICA_PORTS = [8080, 6222];

/** Names control planes of several replicas that a NetworkPolicy cuts off from each other; nothing when there is none. */
export async function replicaFindings(
  objects: readonly Found[],
  { client }: Cluster,
  gaps: Gaps,
): Promise<Finding[]> {
  const several = objects.filter(({ kind: { kind: name }, object }) => {
    const { replicas = 1 } = (object as CoderControlPlane).spec ?? {};
    return name === CoderControlPlane.kind && replicas > 1;
  });
  const cut: string[] = [];
  for (const { kind: ours, object } of several) {
    const { namespace } = object.metadata;
    const policies = (await gaps.list(client, NetworkPolicy, { namespace })) ?? [];
    const ports = closedPorts(labelsOf(object as Stored<CoderControlPlane>), policies);
    if (ports.length > 0)
      cut.push(`${namespace}/${typedName(ours, object.metadata)} on port ${ports.join(" and ")}`);
  }
  if (cut.length === 0) return [];
  const message = `NetworkPolicies keep replicas from each other: ${some(cut)}. Let the pods of a control plane connect to each other; examples/network-policy.yaml does. Port 6222 is used after Coder 2.36.`;
  return [finding("Replicas", "note", message)];
}

function labelsOf(object: Stored<CoderControlPlane>): Labels {
  const common = commonLabels({ app: APPS.CoderControlPlane, identity: identityOf(object) });
  return { ...object.spec?.podLabels, ...common };
}

/** The ports on which no policy lets pods with these labels connect to each other. What can't be judged counts as open. */
export function closedPorts(labels: Labels, policies: readonly NetworkPolicy[]): number[] {
  const selecting = policies.filter(
    ({ spec }) =>
      matches(spec?.podSelector, labels) && (spec?.policyTypes ?? ["Ingress"]).includes("Ingress"),
  );
  if (selecting.length === 0) return [];
  const rules = selecting
    .flatMap(({ spec }) => spec?.ingress ?? [])
    .filter((rule) => letsPodsIn(rule, labels));
  return REPLICA_PORTS.filter((port) => !rules.some((rule) => isOpen(rule, port)));
}

type Rule = Wire<V1NetworkPolicyIngressRule> & { readonly from?: readonly Peer[] };
interface Peer {
  readonly podSelector?: Wire<V1LabelSelector>;
  readonly namespaceSelector?: object;
  readonly ipBlock?: object;
}

function letsPodsIn({ from = [] }: Rule, labels: Labels): boolean {
  if (from.length === 0) return true;
  return from.some(({ podSelector, ipBlock }) => ipBlock !== undefined || matches(podSelector, labels));
}

function isOpen({ ports = [] }: Rule, wanted: number): boolean {
  if (ports.length === 0) return true;
  return ports.some(({ port, endPort, protocol = "TCP" }) => {
    if (protocol !== "TCP") return false;
    // A name is that of a container's port, of which only the first has one.
    if (typeof port !== "number") return port === undefined || wanted === 8080;
    return wanted >= port && wanted <= (endPort ?? port);
  });
}

function matches(selector: Wire<V1LabelSelector> | undefined, labels: Labels): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  const areEqual = Object.entries(matchLabels).every(([name, value]) => labels[name] === value);
  return (
    areEqual &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key];
      if (operator === "Exists") return value !== undefined;
      if (operator === "DoesNotExist") return value === undefined;
      const isIn = value !== undefined && values.includes(value);
      return operator === "In" ? isIn : !isIn;
    })
  );
}
