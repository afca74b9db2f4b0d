import { collectionPath, messageOf, Pod, redactText, type Stored } from "kube-controller-runtime";
import { MANAGER_NAME } from "../../../operator/names.ts";
import type { Cluster } from "../../cluster.ts";
import type { PersonalCoderd } from "../../coderd.ts";
import { CommandError } from "../../command.ts";
import { readLogEnd } from "../../container-log.ts";
import type { Gaps } from "../../gaps.ts";

const LOG_LINES = 2_000;
const LOG_BYTES = 1024 * 1024;

/** So many texts are read at a time: an API server has others to serve. */
const AT_ONCE = 8;

const CODERD_PATHS: readonly string[] = [
  "/api/v2/buildinfo",
  "/api/v2/debug/health",
  "/api/v2/organizations/default/provisionerjobs?status=pending,running&limit=200",
  "/api/v2/organizations/default/provisionerdaemons",
];

/** What will be a file of the bundle. */
export interface Text {
  readonly path: string;
  readonly text: string;
}

export interface CoderdAnswer {
  readonly path: string;
  readonly value: unknown;
}

interface Reader {
  readonly cluster: Cluster;
  readonly gaps: Gaps;
}

/** Reads a text when its turn comes. */
type Reading = () => Promise<Text | undefined>;

/** The version, logs of pods in namespaces whose Secrets are known, and the operator's metrics. */
export async function readTexts(
  pods: readonly Stored<Pod>[],
  open: ReadonlySet<string>,
  reader: Reader,
): Promise<Text[]> {
  const { cluster, gaps } = reader;
  const texts = await inTurns([
    readText(gaps, {
      path: "kubernetes/version.json",
      what: "get the version",
      read: () => cluster.text("/version"),
    }),
    ...pods.flatMap((pod) => podTexts(pod, open, reader)),
  ]);
  return texts.filter((text) => text !== undefined);
}

async function inTurns(readings: readonly Reading[]): Promise<(Text | undefined)[]> {
  const found: (Text | undefined)[] = [];
  const left = readings.entries();
  const worker = async () => {
    for (const [at, read] of left) found[at] = await read();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return found;
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
  const what = `get the logs of pods in namespace "${namespace}"`;
  return [...initContainerStatuses, ...containerStatuses].flatMap(({ name: container, restartCount }) =>
    [false, ...(restartCount > 0 ? [true] : [])].map((previous) => {
      const end = { namespace, pod: name, container, previous, lines: LOG_LINES, bytes: LOG_BYTES };
      const path = `logs/${namespace}/${name}/${container}${previous ? ".previous" : ""}.log`;
      return readText(gaps, { path, what, read: () => readLogEnd(cluster, end) });
    }),
  );
}

function metricsOf({ metadata }: Stored<Pod>, cluster: Cluster, gaps: Gaps): Reading {
  const { namespace = "", name } = metadata;
  const from = `${collectionPath(Pod, namespace)}/${encodeURIComponent(name)}:8080/proxy/metrics`;
  const what = `get the operator's metrics through the API server in namespace "${namespace}"`;
  return readText(gaps, { path: `metrics/${name}.txt`, what, read: () => cluster.text(from) });
}

/** One that hangs or breaks off is a gap: everything else has been read by then. */
function readText(
  gaps: Gaps,
  {
    path,
    what,
    read,
  }: { readonly path: string; readonly what: string; readonly read: () => Promise<string> },
): Reading {
  return async () => {
    try {
      const text = await gaps.read(what, read());
      return text === undefined ? undefined : { path, text };
    } catch (error) {
      gaps.add(`Could not read ${path}: ${redactText(messageOf(error)).replace(/\.$/, "")}.`);
      return undefined;
    }
  };
}

/** Health, versions and the queue, as the person's own token sees them. */
export async function askCoderd(coderd: PersonalCoderd, gaps: Gaps): Promise<CoderdAnswer[]> {
  const answers = CODERD_PATHS.map(async (path) => {
    const name = path
      .replace(/^\/api\/v2\//, "")
      .replace(/\?.*/, "")
      .replaceAll("/", "-");
    try {
      return [{ path: `coderd/${name}.json`, value: await coderd.get(path) }];
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      gaps.add(error.message);
      return [];
    }
  });
  return (await Promise.all(answers)).flat();
}
