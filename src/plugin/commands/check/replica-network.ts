import type { V1LabelSelector, V1NetworkPolicy, V1NetworkPolicyIngressRule } from "@kubernetes/client-node";
import { find, kind, Namespace, type Stored, type Wire } from "kube-controller-runtime";
import { CoderControlPlane } from "../../../api/v1alpha1/kinds.ts";
import { httpContainerPort } from "../../../operator/coderd/settings.ts";
import { APPS, commonLabels, identityOf, type Labels } from "../../../operator/names.ts";
import { CLUSTER_PORT } from "../../../operator/workload/additions.ts";
import type { ContainerPort } from "../../../operator/workload/certificates.ts";
import type { Cluster } from "../../cluster.ts";
import type { Gaps } from "../../gaps.ts";
import { type Found, typedName } from "../../objects.ts";
import { type Finding, finding, some } from "./report.ts";

type NetworkPolicy = Wire<V1NetworkPolicy>;
const NetworkPolicy = kind<NetworkPolicy>("networking.k8s.io/v1", {
  kind: "NetworkPolicy",
  plural: "networkpolicies",
});

/** Ports on which replicas of coderd connect to each other: DERP relays, and messages after Coder 2.36. */
const REPLICA_PORTS = [httpContainerPort, CLUSTER_PORT];

/**
 * Reports control planes with several replicas that a NetworkPolicy separates from each other; empty if there
 * are none.
 */
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
    const { namespace = "" } = object.metadata;
    const policies = (await gaps.list(client, NetworkPolicy, { namespace })) ?? [];
    const pods = {
      labels: labelsOf(object as Stored<CoderControlPlane>),
      namespaceLabels: policies.some(asksForNamespace)
        ? await namespaceLabels(namespace, client, gaps)
        : undefined,
    };
    const ports = closedPorts(pods, policies);
    if (ports.length > 0)
      cut.push(`${namespace}/${typedName(ours, object.metadata)} on port ${ports.join(" and ")}`);
  }
  if (cut.length === 0) return [];
  const message = `NetworkPolicies block connections between replicas: ${some(cut)}. Allow the pods of a control plane to connect to each other, as in examples/network-policy.yaml. Coder uses port 6222 after version 2.36.`;
  return [finding("Replicas", "note", message)];
}

function labelsOf(object: Stored<CoderControlPlane>): Labels {
  const common = commonLabels({ app: APPS.CoderControlPlane, identity: identityOf(object) });
  return { ...object.spec?.podLabels, ...common };
}

async function namespaceLabels(
  name: string,
  client: Cluster["client"],
  gaps: Gaps,
): Promise<Labels | undefined> {
  const found = await gaps.read(`get namespace "${name}"`, find(client, Namespace, { name }));
  return found && { ...found.metadata.labels };
}

/** The pods of one control plane, as policies select them. */
interface Pods {
  readonly labels: Labels;
  /** Absent if the labels could not be read. */
  readonly namespaceLabels?: Labels | undefined;
}

/**
 * The ports on which no policy lets these pods connect to each other. A port that can't be evaluated counts
 * as open.
 */
export function closedPorts(pods: Pods, policies: readonly NetworkPolicy[]): number[] {
  const selecting = policies.filter(
    ({ spec }) =>
      matches(spec?.podSelector, pods.labels) && (spec?.policyTypes ?? ["Ingress"]).includes("Ingress"),
  );
  if (selecting.length === 0) return [];
  const rules = selecting.flatMap(rulesOf).filter((rule) => letsPodsIn(rule, pods));
  return REPLICA_PORTS.filter((port) => !rules.some((rule) => isOpen(rule, port))).map(
    ({ containerPort }) => containerPort,
  );
}

type Rule = Wire<V1NetworkPolicyIngressRule> & { readonly from?: readonly Peer[] };
interface Peer {
  readonly podSelector?: Wire<V1LabelSelector>;
  readonly namespaceSelector?: Wire<V1LabelSelector>;
  readonly ipBlock?: object;
}

const rulesOf = ({ spec }: NetworkPolicy): readonly Rule[] => spec?.ingress ?? [];

function asksForNamespace(policy: NetworkPolicy): boolean {
  return rulesOf(policy).some(({ from = [] }) => from.some(({ namespaceSelector }) => namespaceSelector));
}

function letsPodsIn({ from = [] }: Rule, { labels, namespaceLabels: ofNamespace }: Pods): boolean {
  if (from.length === 0) return true;
  return from.some(({ podSelector, namespaceSelector, ipBlock }) => {
    if (ipBlock !== undefined) return true;
    const isFromNamespace = !namespaceSelector || !ofNamespace || matches(namespaceSelector, ofNamespace);
    return isFromNamespace && matches(podSelector, labels);
  });
}

function isOpen({ ports = [] }: Rule, { name, containerPort: wanted }: ContainerPort): boolean {
  if (ports.length === 0) return true;
  return ports.some(({ port, endPort, protocol = "TCP" }) => {
    if (protocol !== "TCP") return false;
    if (typeof port !== "number") return port === undefined || port === name;
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
