import {
  ConfigMap,
  CoreEvent,
  Deployment,
  Ingress,
  type Kind,
  type KubeObject,
  Lease,
  Pod,
  PodDisruptionBudget,
  ReplicaSet,
  Role,
  RoleBinding,
  Secret,
  Service,
  ServiceAccount,
  type Stored,
} from "kube-controller-runtime";
import type { Cluster } from "../../cluster.ts";
import type { PersonalCoderd } from "../../coderd.ts";
import type { Gaps } from "../../gaps.ts";
import { OUR_CHILDREN, OUR_KINDS } from "../../objects.ts";
import { findOperators, OPERATOR_SELECTOR } from "../check/operator.ts";
import { configMapsOf, type SecretSources } from "./redactor-for.ts";
import { askCoderd, type CoderdAnswer, readTexts } from "./texts.ts";
import type { ZipEntry } from "./zip.ts";

/** Kinds of children. Secrets are handled separately, because their values must not be read into a bundle. */
const CHILDREN: readonly Kind[] = [
  ...[Deployment, ReplicaSet, Pod, Service, Ingress, ServiceAccount, Role, RoleBinding],
  ...[PodDisruptionBudget, ConfigMap],
];

/** The data for a bundle, before redaction. */
export interface Material extends SecretSources {
  readonly events: readonly Stored<CoreEvent>[];
  readonly texts: readonly ZipEntry[];
  /** Responses of coderd. */
  readonly answers: readonly CoderdAnswer[];
}

export async function gatherMaterial(
  cluster: Cluster,
  gaps: Gaps,
  coderd: PersonalCoderd | undefined,
): Promise<Material> {
  const objects = await allObjects(cluster, gaps);
  const namespaces = new Set(objects.map(({ metadata }) => metadata.namespace ?? ""));
  const [rooms, configMaps] = await Promise.all([
    Promise.all([...namespaces].map((namespace) => openRoom(namespace, cluster, gaps))),
    configMapsOf(objects, cluster, gaps),
  ]);
  const open = new Set(rooms.filter(({ secrets }) => secrets).map(({ namespace }) => namespace));
  const names = new Set(objects.map(({ metadata }) => metadata.name));
  const pods = objects.filter((object): object is Stored<Pod> => object.kind === Pod.kind);
  const texts = await readTexts(pods, open, { cluster, gaps });
  const answers = coderd ? await askCoderd(coderd, gaps) : [];
  const events = rooms.flatMap((room) => room.events);
  return {
    objects,
    secrets: rooms.flatMap(({ secrets = [] }) => secrets),
    configMaps,
    events: events.filter(({ involvedObject }) => names.has(involvedObject.name ?? "")),
    texts,
    answers,
  };
}

/** The operator's custom resources, their children, and the operator's own objects. */
async function allObjects(cluster: Cluster, gaps: Gaps): Promise<Stored<KubeObject>[]> {
  const { client, namespace } = cluster;
  const lists = await Promise.all([
    ...OUR_KINDS.map(({ kind: each }) => gaps.list(client, each, { namespace })),
    ...CHILDREN.map((each) => gaps.list(client, each, { namespace, ...OUR_CHILDREN })),
    operatorObjects(cluster, gaps),
  ]);
  return lists.flatMap((each) => each ?? []);
}

/**
 * The Secrets and events of a namespace. Logs and events can only be redacted if the Secrets are known:
 * otherwise no events are returned, and logs must not be read.
 */
async function openRoom(namespace: string, { client }: Cluster, gaps: Gaps) {
  const secrets = await gaps.list(client, Secret, { namespace });
  if (secrets)
    return { namespace, secrets, events: (await gaps.list(client, CoreEvent, { namespace })) ?? [] };
  gaps.add(
    `Logs and events of namespace "${namespace}" are omitted: its Secrets could not be read, so their values can't be redacted.`,
  );
  return { namespace, secrets, events: [] };
}

/** The operator's own Deployment, pods and Lease, in any namespace. */
async function operatorObjects(cluster: Cluster, gaps: Gaps): Promise<Stored<KubeObject>[]> {
  const operators = (await findOperators(cluster, gaps, undefined)) ?? [];
  const found = await Promise.all(
    operators.map(async (operator) => {
      const { namespace } = operator.metadata;
      const [pods = [], leases = []] = await Promise.all([
        gaps.list(cluster.client, Pod, { namespace, labelSelector: OPERATOR_SELECTOR }),
        gaps.list(cluster.client, Lease, { namespace }),
      ]);
      return [operator, ...pods, ...leases.filter(({ metadata }) => metadata.name.endsWith(".coder.com"))];
    }),
  );
  return found.flat();
}
