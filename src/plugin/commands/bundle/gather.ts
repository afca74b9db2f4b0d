import {
  ConfigMap,
  CoreEvent,
  collectionPath,
  Deployment,
  Ingress,
  type Kind,
  type KubeObject,
  kind,
  Lease,
  Pod,
  PodDisruptionBudget,
  Role,
  RoleBinding,
  Secret,
  Service,
  ServiceAccount,
  type Stored,
} from "kube-controller-runtime";
import { MANAGED_BY_LABEL, MANAGER_NAME } from "../../../operator/names.ts";
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

/** Everything for a bundle, before anything is taken out of it. */
export interface Material {
  readonly objects: readonly Stored<KubeObject>[];
  readonly secrets: readonly Stored<Secret>[];
  readonly events: readonly Stored<CoreEvent>[];
  readonly texts: readonly { readonly path: string; readonly text: string }[];
}

export async function gatherMaterial(
  cluster: Cluster,
  gaps: Gaps,
  coderd: PersonalCoderd | undefined,
): Promise<Material> {
  const { client, namespace } = cluster;
  const where = namespace === undefined ? "all namespaces" : `namespace "${namespace}"`;
  const list = <T extends KubeObject>(of: Kind<T>, selection: { labelSelector?: string } = {}) =>
    gaps.read(`list ${of.plural} in ${where}`, listAll(client, of, { namespace, ...selection }));
  const ours = { labelSelector: `${MANAGED_BY_LABEL}=${MANAGER_NAME}` };
  const [own, children, secrets = [], events = [], operators] = await Promise.all([
    Promise.all(OUR_KINDS.map(({ kind: each }) => list<KubeObject>(each))),
    Promise.all(CHILDREN.map((each) => list<KubeObject>(each, ours))),
    list(Secret),
    list(CoreEvent),
    operatorObjects(cluster, gaps),
  ]);
  const objects = [...own, ...children].flatMap((each) => each ?? []);
  const names = new Set(objects.map(({ metadata }) => metadata.name));
  const pods = [...objects, ...operators].filter((object): object is Stored<Pod> => object.kind === Pod.kind);
  const texts = await Promise.all([
    readText(cluster, gaps, { path: "kubernetes/version.json", from: "/version", what: "get the version" }),
    ...pods.flatMap((pod) => logsOf(pod, cluster, gaps)),
    ...operators.filter(isPod).map((pod) => metricsOf(pod, cluster, gaps)),
    ...(coderd ? CODERD_PATHS.map((path) => askCoderd(coderd, path, gaps)) : []),
  ]);
  return {
    objects: [...objects, ...operators],
    secrets,
    events: events.filter(({ involvedObject }) => names.has(involvedObject.name ?? "")),
    texts: texts.filter((text) => text !== undefined),
  };
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

type Text = Promise<Material["texts"][number] | undefined>;

/** The present log of every container, and that of the run before where there was one. */
function logsOf(pod: Stored<Pod>, cluster: Cluster, gaps: Gaps): Text[] {
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

function metricsOf({ metadata }: Stored<Pod>, cluster: Cluster, gaps: Gaps): Text {
  const { namespace = "", name } = metadata;
  const from = `${collectionPath(Pod, namespace)}/${encodeURIComponent(name)}:8080/proxy/metrics`;
  const what = `get the operator's metrics through the API server in namespace "${namespace}"`;
  return readText(cluster, gaps, { path: `metrics/${name}.txt`, from, what });
}

async function readText(
  cluster: Cluster,
  gaps: Gaps,
  { path, from, what }: { readonly path: string; readonly from: string; readonly what: string },
): Text {
  const text = await gaps.read(what, cluster.text(from));
  return text === undefined ? undefined : { path, text };
}

/** Health, versions and the queue, as the person's own token sees them. */
const CODERD_PATHS: readonly string[] = [
  "/api/v2/buildinfo",
  "/api/v2/debug/health",
  "/api/v2/organizations/default/provisionerjobs?status=pending,running&limit=200",
  "/api/v2/organizations/default/provisionerdaemons",
];

async function askCoderd(coderd: PersonalCoderd, path: string, gaps: Gaps): Text {
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
