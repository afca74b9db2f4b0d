import { ApiError, collectionPath, messageOf, Pod, type Stored } from "kube-controller-runtime";
import { redactText } from "../../../coder/redact.ts";
import { MANAGER_NAME } from "../../../operator/names.ts";
import type { Cluster } from "../../cluster.ts";
import type { PersonalCoderd } from "../../coderd.ts";
import { CommandError } from "../../command.ts";
import { readLogEnd } from "../../container-log.ts";
import type { Gaps } from "../../gaps.ts";
import type { ZipEntry } from "./zip.ts";

const LOG_LINES = 2_000;
const LOG_BYTES = 1024 * 1024;

/** Number of concurrent reads, to limit the load on the API server. */
const AT_ONCE = 8;

const API = "/api/v2/";
const CODERD_PATHS = [
  "buildinfo",
  "debug/health",
  "organizations/default/provisionerjobs?status=pending,running&limit=200",
  "organizations/default/provisionerdaemons",
];

export interface CoderdAnswer {
  readonly path: string;
  readonly value: unknown;
}

interface Reader {
  readonly cluster: Cluster;
  readonly gaps: Gaps;
}

/** A text to read: its file name, how to read it, and how to describe it in an error. */
interface Source {
  readonly path: string;
  readonly what: string;
  readonly read: (cluster: Cluster) => Promise<string>;
}

/** The version, the logs of pods in namespaces whose Secrets are known, and the operator's metrics. */
export async function readTexts(
  pods: readonly Stored<Pod>[],
  open: ReadonlySet<string>,
  reader: Reader,
): Promise<ZipEntry[]> {
  const sources: Source[] = [
    { path: "kubernetes/version.json", what: "get the version", read: ({ text }) => text("/version") },
    ...pods.flatMap((pod) => [
      ...(open.has(pod.metadata.namespace ?? "") ? logsOf(pod) : []),
      ...metricsOf(pod),
    ]),
  ];
  const found: (ZipEntry | Problem | undefined)[] = [];
  const left = sources.entries();
  const worker = async () => {
    for (const [at, source] of left) found[at] = await readText(source, reader);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  // In the order of the pods, not in that of the responses.
  for (const each of found) if (each && "problem" in each) reader.gaps.add(each.problem);
  return found.flatMap((each) => (each && "text" in each ? [each] : []));
}

/** The current log of every container, and the previous one if the container restarted. */
function logsOf(pod: Stored<Pod>): Source[] {
  const { namespace = "", name } = pod.metadata;
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  const what = `get the logs of pods in namespace "${namespace}"`;
  return [...initContainerStatuses, ...containerStatuses].flatMap(({ name: container, restartCount }) =>
    [false, ...(restartCount > 0 ? [true] : [])].map((previous) => {
      const end = { namespace, pod: name, container, previous, lines: LOG_LINES, bytes: LOG_BYTES };
      const path = `logs/${namespace}/${name}/${container}${previous ? ".previous" : ""}.log`;
      return { path, what, read: (cluster: Cluster) => readLogEnd(cluster, end) };
    }),
  );
}

/** The metrics of the operator; they contain no secrets. */
function metricsOf({ metadata: { namespace, name, labels = {} } }: Stored<Pod>): Source[] {
  if (labels["app.kubernetes.io/name"] !== MANAGER_NAME) return [];
  const what = `get the operator's metrics through the API server in namespace "${namespace}"`;
  const from = `${collectionPath(Pod, namespace)}/${encodeURIComponent(name)}:8080/proxy/metrics`;
  return [{ path: `metrics/${name}.txt`, what, read: ({ text }) => text(from) }];
}

/** Why a text is missing. */
interface Problem {
  readonly problem: string;
}

/** A read that hangs or breaks off is recorded as a gap; the other texts are kept. */
async function readText(
  { path, what, read }: Source,
  { cluster, gaps }: Reader,
): Promise<ZipEntry | Problem | undefined> {
  try {
    const text = await gaps.read(what, read(cluster).catch(aboutThisOne));
    return text === undefined ? undefined : { path, text };
  } catch (error) {
    return { problem: `Could not read ${path}: ${redactText(messageOf(error)).replace(/\.$/, "")}.` };
  }
}

/**
 * A missing permission affects all texts of its kind; any other error, such as a container that has not
 * started, only this one.
 */
function aboutThisOne(error: unknown): never {
  if (!(error instanceof ApiError) || [0, 401, 403].includes(error.code)) throw error;
  throw new Error(messageOf(error), { cause: error });
}

/** Health, versions and the queue, with the permissions of the user's own token. */
export async function askCoderd(coderd: PersonalCoderd, gaps: Gaps): Promise<CoderdAnswer[]> {
  const answers = CODERD_PATHS.map(async (path) => {
    const [file = ""] = path.split("?");
    try {
      return [{ path: `coderd/${file.replaceAll("/", "-")}.json`, value: await coderd.get(`${API}${path}`) }];
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      gaps.add(error.message);
      return [];
    }
  });
  return (await Promise.all(answers)).flat();
}
