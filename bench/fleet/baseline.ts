import {
  type Client,
  Deployment,
  type Kind,
  type KubeObject,
  Role,
  RoleBinding,
  refOf,
  Secret,
  Service,
  ServiceAccount,
  type Stored,
} from "kube-controller-runtime";
import { type ClusterAccess, clientAs } from "kube-controller-runtime/testing";
import { CoderControlPlane, CoderProvisioner } from "../../src/api/v1alpha1/kinds.ts";
import { concurrently, timed } from "../workload.ts";
import { controlPlaneName, provisionerName } from "./names.ts";

const APPLIED: readonly Kind[] = [ServiceAccount, Role, RoleBinding, Service, Deployment];

interface Written extends KubeObject {
  spec?: { clusterIP?: string; clusterIPs?: string[] };
  status?: object;
}

interface Model {
  readonly kind: Kind;
  readonly object: Written;
}

/** The clients of a user and of the operator. */
interface Hands {
  readonly person: Client;
  readonly operator: Client;
}

interface ConvergedFleet {
  readonly cluster: ClusterAccess;
  readonly person: Client;
  readonly namespace: string;
  readonly size: number;
  /** The number of concurrent writers. */
  readonly writers: number;
}

/**
 * The time in seconds that a plain client needs for the necessary writes of a converged fleet: it writes the
 * same objects again, in another namespace. The operator must be stopped.
 */
export async function baselineSeconds({
  cluster,
  person,
  namespace,
  size,
  writers,
}: ConvergedFleet): Promise<number> {
  const operator = await clientAs(cluster.operator, "coder-k8s");
  const models = await modelsIn(person, namespace);
  const elsewhere = await cluster.createNamespace("plain");
  const taken = await timed(() =>
    concurrently(size, writers, async (index) => {
      for (const { kind, object } of models)
        await write({ person, operator }, kind, asMember(object, { index, from: namespace, to: elsewhere }));
    }),
  );
  return taken / 1_000;
}

/** The objects of the first pair of a fleet. */
async function modelsIn(person: Client, namespace: string): Promise<Model[]> {
  const pair = [controlPlaneName(0), provisionerName(0)];
  const models: Model[] = [];
  for (const kind of [CoderControlPlane, CoderProvisioner, ...APPLIED, Secret]) {
    const { items } = await person.list<Written>(kind as Kind<Written>, { namespace });
    const isOfPair = ({ metadata }: Stored<Written>) =>
      pair.includes(metadata.name) || metadata.ownerReferences?.some(({ name }) => pair.includes(name));
    models.push(...items.filter(isOfPair).map((object) => ({ kind, object: asWritten(object) })));
  }
  return models;
}

/** Without the fields that the API server adds. */
function asWritten({ metadata, spec, ...rest }: Stored<Written>): Written {
  const { namespace = "", name, labels = {}, annotations = {}, finalizers = [] } = metadata;
  const { clusterIP: _, clusterIPs: __, ...kept } = spec ?? {};
  const written = { ...rest, metadata: { namespace, name, labels, annotations, finalizers } };
  return spec ? { ...written, spec: kept } : written;
}

function asMember(
  object: Written,
  { index, from, to }: { index: number; from: string; to: string },
): Written {
  const text = JSON.stringify(object)
    .replaceAll(controlPlaneName(0), controlPlaneName(index))
    .replaceAll(provisionerName(0), provisionerName(index))
    .replaceAll(from, to);
  return JSON.parse(text);
}

/** One request with all fields of an object, and further requests for subresources. */
async function write({ person, operator }: Hands, kind: Kind, whole: Written): Promise<void> {
  const { status, ...object } = whole;
  const { finalizers, ...metadata } = object.metadata ?? {};
  const ref = refOf(object);
  if (APPLIED.includes(kind)) await operator.apply(kind, { ...object, metadata });
  else await (kind === Secret ? operator : person).create(kind, { ...object, metadata });
  // Every object gets a first status immediately.
  if (kind === CoderControlPlane || kind === CoderProvisioner)
    await operator.patchStatus(kind, ref, { status: { phase: "Pending" } });
  if (kind === Deployment) await person.patchStatus(kind, ref, { status });
  if (finalizers?.length) await operator.mergePatch(kind, ref, { metadata: { finalizers } });
  // The pending key.
  if (kind === CoderProvisioner) await operator.patchStatus(kind, ref, { status: { observedGeneration: 0 } });
  if (kind === CoderControlPlane || kind === CoderProvisioner)
    await operator.patchStatus(kind, ref, { status });
}
