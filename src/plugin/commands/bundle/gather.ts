import {
  ConfigMap,
  CoreEvent,
  collectionPath,
  Deployment,
  find,
  Ingress,
  type Kind,
  type KubeObject,
  kind,
  Lease,
  messageOf,
  Pod,
  PodDisruptionBudget,
  Role,
  RoleBinding,
  redactText,
  Secret,
  Service,
  ServiceAccount,
  type Stored,
} from "kube-controller-runtime";
import { MANAGED_BY_LABEL, MANAGER_NAME } from "../../../operator/names.ts";
import type { EnvFromSource } from "../../../operator/pods/env.ts";
import { type Cluster, listAll } from "../../cluster.ts";
import type { PersonalCoderd } from "../../coderd.ts";
import { CommandError } from "../../command.ts";
import type { Gaps } from "../../gaps.ts";
import { OUR_KINDS } from "../../objects.ts";
import { findOperators } from "../check/operator.ts";

const ReplicaSet = kind<KubeObject>("apps/v1", { kind: "ReplicaSet", plural: "replicasets" });

/** Kinds of children; Secrets are apart, since their values must not be seen. */
const CHILDREN: readonly Kind[] = [
  ...[Deployment, ReplicaSet, Pod, Service, Ingress, ServiceAccount, Role, RoleBinding],
  ...[PodDisruptionBudget, ConfigMap],
];

const LOG_LINES = 2_000;
const LOG_BYTES = 1024 * 1024;

/** So many texts are read at a time: an API server has others to serve. */
const AT_ONCE = 8;

/** Everything for a bundle, before anything is taken out of it. */
export interface Material {
  readonly objects: readonly Stored<KubeObject>[];
  /** All of the namespaces with objects, since any may be quoted. */
  readonly secrets: readonly Stored<Secret>[];
  /** Those that pods take variables from. */
  readonly configMaps: readonly Stored<ConfigMap>[];
  readonly events: readonly Stored<CoreEvent>[];
  readonly texts: readonly Text[];
}

interface Text {
  readonly path: string;
  readonly text: string;
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
  const texts = await inTurns([
    readText(cluster, gaps, { path: "kubernetes/version.json", from: "/version", what: "get the version" }),
    ...objects.filter(isPod).flatMap((pod) => podTexts(pod, open, { cluster, gaps })),
    ...(coderd ? CODERD_PATHS.map((path) => () => askCoderd(coderd, path, gaps)) : []),
  ]);
  const events = rooms.flatMap((room) => room.events);
  return {
    objects,
    secrets: rooms.flatMap(({ secrets = [] }) => secrets),
    configMaps,
    events: events.filter(({ involvedObject }) => names.has(involvedObject.name ?? "")),
    texts: texts.filter((text) => text !== undefined),
  };
}

/** Our objects, their children, and what the operator itself is made of. */
async function allObjects(cluster: Cluster, gaps: Gaps): Promise<Stored<KubeObject>[]> {
  const { client, namespace } = cluster;
  const where = namespace === undefined ? "all namespaces" : `namespace "${namespace}"`;
  const list = (of: Kind, selection: { labelSelector?: string } = {}) =>
    gaps.read(`list ${of.plural} in ${where}`, listAll(client, of, { namespace, ...selection }));
  const ours = { labelSelector: `${MANAGED_BY_LABEL}=${MANAGER_NAME}` };
  const lists = await Promise.all([
    ...OUR_KINDS.map(({ kind: each }) => list(each)),
    ...CHILDREN.map((each) => list(each, ours)),
    operatorObjects(cluster, gaps),
  ]);
  return lists.flatMap((each) => each ?? []);
}

/**
 * The Secrets and events of a namespace. Without its Secrets nothing could tell what a log or an event quotes of
 * them, so then there are no events, and logs must not be read.
 */
async function openRoom(namespace: string, { client }: Cluster, gaps: Gaps) {
  const list = <T extends KubeObject>(of: Kind<T>) =>
    gaps.read(`list ${of.plural} in namespace "${namespace}"`, listAll(client, of, { namespace }));
  const secrets = await list(Secret);
  if (secrets) return { namespace, secrets, events: (await list(CoreEvent)) ?? [] };
  gaps.add(
    `Logs and events of namespace "${namespace}" are left out: without its Secrets, what they quote of one can't be recognised.`,
  );
  return { namespace, secrets, events: [] };
}

/** The ConfigMaps that `envFrom` of our objects names. */
async function configMapsOf(
  objects: readonly Stored<KubeObject>[],
  { client }: Cluster,
  gaps: Gaps,
): Promise<Stored<ConfigMap>[]> {
  const named = objects.flatMap(({ metadata: { namespace }, ...object }) => {
    const { spec } = object as { spec?: { envFrom?: readonly EnvFromSource[] } };
    const { envFrom = [] } = spec ?? {};
    return envFrom.flatMap(({ configMapRef }) =>
      configMapRef?.name ? [{ namespace, name: configMapRef.name }] : [],
    );
  });
  const found = await Promise.all(
    named.map((ref) =>
      gaps.read(`get configmaps in namespace "${ref.namespace}"`, find(client, ConfigMap, ref)),
    ),
  );
  return found.filter((each) => each !== undefined);
}

function isPod(object: Stored<KubeObject>): object is Stored<Pod> {
  return object.kind === Pod.kind;
}

/** The operator's own Deployment, pods and Lease, wherever it runs. */
async function operatorObjects(cluster: Cluster, gaps: Gaps): Promise<Stored<KubeObject>[]> {
  const operators = (await findOperators(cluster, gaps, undefined)) ?? [];
  const found = await Promise.all(
    operators.map(async (operator) => {
      const { namespace } = operator.metadata;
      const labelSelector = "app.kubernetes.io/name=coder-k8s";
      const [pods = [], leases = []] = await Promise.all([
        gaps.read(
          `list pods in namespace "${namespace}"`,
          listAll(cluster.client, Pod, { namespace, labelSelector }),
        ),
        gaps.read(`list leases in namespace "${namespace}"`, listAll(cluster.client, Lease, { namespace })),
      ]);
      return [operator, ...pods, ...leases.filter(({ metadata }) => metadata.name.endsWith(".coder.com"))];
    }),
  );
  return found.flat();
}

/** Reads a text when its turn comes. */
type Reading = () => Promise<Text | undefined>;

async function inTurns(readings: readonly Reading[]): Promise<(Text | undefined)[]> {
  const found: (Text | undefined)[] = [];
  const left = readings.entries();
  const worker = async () => {
    for (const [at, read] of left) found[at] = await read();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return found;
}

interface Reader {
  readonly cluster: Cluster;
  readonly gaps: Gaps;
}

/** Logs where they may be read, and metrics of the operator, which quote nothing. */
function podTexts(pod: Stored<Pod>, open: ReadonlySet<string>, { cluster, gaps }: Reader): Reading[] {
  const { namespace = "", labels = {} } = pod.metadata;
  return [
    ...(open.has(namespace) ? logsOf(pod, cluster, gaps) : []),
    ...(labels["app.kubernetes.io/name"] === MANAGER_NAME ? [metricsOf(pod, cluster, gaps)] : []),
  ];
}

/** The present log of every container, and that of the run before where there was one. */
function logsOf(pod: Stored<Pod>, cluster: Cluster, gaps: Gaps): Reading[] {
  const { namespace = "", name } = pod.metadata;
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  const base = `${collectionPath(Pod, namespace)}/${encodeURIComponent(name)}/log`;
  return [...initContainerStatuses, ...containerStatuses].flatMap(({ name: container, restartCount }) => {
    const query = `?container=${encodeURIComponent(container)}&tailLines=${LOG_LINES}&limitBytes=${LOG_BYTES}`;
    const what = `get the logs of pods in namespace "${namespace}"`;
    const present = { path: `logs/${namespace}/${name}/${container}.log`, from: base + query, what };
    const previous = {
      path: `logs/${namespace}/${name}/${container}.previous.log`,
      from: `${base}${query}&previous=true`,
      what,
    };
    return [present, ...(restartCount > 0 ? [previous] : [])].map((each) => readText(cluster, gaps, each));
  });
}

function metricsOf({ metadata }: Stored<Pod>, cluster: Cluster, gaps: Gaps): Reading {
  const { namespace = "", name } = metadata;
  const from = `${collectionPath(Pod, namespace)}/${encodeURIComponent(name)}:8080/proxy/metrics`;
  const what = `get the operator's metrics through the API server in namespace "${namespace}"`;
  return readText(cluster, gaps, { path: `metrics/${name}.txt`, from, what });
}

/** One that hangs or breaks off is a gap: everything else has been read by then. */
function readText(
  cluster: Cluster,
  gaps: Gaps,
  { path, from, what }: { readonly path: string; readonly from: string; readonly what: string },
): Reading {
  return async () => {
    try {
      const text = await gaps.read(what, cluster.text(from));
      return text === undefined ? undefined : { path, text };
    } catch (error) {
      gaps.add(`Could not read ${path}: ${redactText(messageOf(error)).replace(/\.$/, "")}.`);
      return undefined;
    }
  };
}

/** Health, versions and the queue, as the person's own token sees them. */
const CODERD_PATHS: readonly string[] = [
  "/api/v2/buildinfo",
  "/api/v2/debug/health",
  "/api/v2/organizations/default/provisionerjobs?status=pending,running&limit=200",
  "/api/v2/organizations/default/provisionerdaemons",
];

async function askCoderd(coderd: PersonalCoderd, path: string, gaps: Gaps): Promise<Text | undefined> {
  const name = path
    .replace(/^\/api\/v2\//, "")
    .replace(/\?.*/, "")
    .replaceAll("/", "-");
  try {
    return { path: `coderd/${name}.json`, text: `${JSON.stringify(await coderd.get(path), undefined, 2)}\n` };
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    gaps.add(error.message);
    return undefined;
  }
}
