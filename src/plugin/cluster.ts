import {
  ApiError,
  type Client,
  type Clock,
  HttpClient,
  httpTransport,
  type Kind,
  type KubeObject,
  loadCredentials,
  redactText,
  type Stored,
  type Transport,
} from "kube-controller-runtime";

/** Where to look, as the flags that all commands have say it. */
export interface Where {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly namespace?: string | undefined;
  readonly allNamespaces?: boolean | undefined;
}

/** The cluster as the person sees it: with their credentials, and nothing else. */
export interface Cluster {
  readonly client: Client;
  /** Where to look; `undefined` means in all namespaces. */
  readonly namespace: string | undefined;
  /** The namespace that the person named; `undefined` when the kubeconfig did, or nobody. */
  readonly chosenNamespace: string | undefined;
  /** Where to act on an object that was given by its name alone. */
  readonly homeNamespace: string;
  /** The API server's time as its last answer says it: this machine's clock may be off. */
  readonly now: () => number;
  /** What a path of the API answers that is not JSON: logs, metrics through a proxy. */
  readonly text: (path: string) => Promise<string>;
  readonly close: () => Promise<void>;
}

const PAGE = 500;
const TEXT_TIMEOUT_MS = 30_000;
/** As much of a log or of metrics as is read. */
const MAX_TEXT_LENGTH = 4 * 1024 * 1024;

/** Finds the kubeconfig and its context by the rules of kubectl. Throws with what to set when there is none. */
export async function openCluster(where: Where, clock: Clock, version: string): Promise<Cluster> {
  const credentials = await loadCredentials(where, clock);
  const transport = httpTransport(credentials);
  const homeNamespace = where.namespace ?? credentials.namespace ?? "default";
  return clusterOver(transport, { ...where, clock, version, homeNamespace });
}

interface ClusterOptions extends Pick<Where, "namespace" | "allNamespaces"> {
  readonly clock: Clock;
  readonly version: string;
  readonly homeNamespace: string;
}

export function clusterOver(plain: Transport, options: ClusterOptions): Cluster {
  const { clock, version, homeNamespace, allNamespaces } = options;
  const { transport, now } = timed(plain, clock);
  const userAgent = `kubectl-coder/${version}`;
  return {
    client: new HttpClient({ transport, clock, fieldManager: "kubectl-coder", userAgent }),
    namespace: allNamespaces ? undefined : homeNamespace,
    chosenNamespace: allNamespaces ? undefined : options.namespace,
    homeNamespace,
    now,
    text: (path) => readText(transport, path, userAgent),
    close: () => transport.close(),
  };
}

/** Learns the server's time from the `Date` of its answers. */
function timed(transport: Transport, clock: Clock): { transport: Transport; now: () => number } {
  let aheadMs = 0;
  const send: Transport["send"] = async (request) => {
    const response = await transport.send(request);
    const served = Date.parse(`${response.headers.date}`);
    if (!Number.isNaN(served)) aheadMs = served - clock.now();
    return response;
  };
  return { transport: { send, close: () => transport.close() }, now: () => clock.now() + aheadMs };
}

export interface Selection {
  readonly namespace: string | undefined;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** All objects of a kind in a namespace, or in all. */
export async function listAll<T extends KubeObject>(
  client: Pick<Client, "list">,
  kind: Kind<T>,
  selection: Selection,
): Promise<Stored<T>[]> {
  const items: Stored<T>[] = [];
  let continueToken: string | undefined;
  do {
    const page = await client.list(kind, { ...selection, limit: PAGE, continueToken });
    // A list leaves out what is the same for all of its items.
    items.push(...page.items.map((item) => ({ ...item, apiVersion: kind.apiVersion, kind: kind.kind })));
    continueToken = page.continueToken;
  } while (continueToken);
  return items;
}

async function readText(transport: Transport, path: string, userAgent: string): Promise<string> {
  const signal = AbortSignal.timeout(TEXT_TIMEOUT_MS);
  const headers = { accept: "*/*", "user-agent": userAgent };
  const response = await transport.send({ method: "GET", path, headers, signal });
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > MAX_TEXT_LENGTH) break;
  }
  const text = Buffer.concat(chunks).subarray(0, MAX_TEXT_LENGTH).toString("utf8");
  const { status: code } = response;
  if (code < 300) return text;
  const reason = { 401: "Unauthorized", 403: "Forbidden", 404: "NotFound" }[code] ?? "InternalError";
  throw new ApiError(refusalIn(text) ?? `the API server answered with HTTP ${code}`, { reason, code });
}

/** What the server says in place of the text. */
function refusalIn(text: string): string | undefined {
  try {
    const { message } = JSON.parse(text) as { readonly message?: unknown };
    return typeof message === "string" ? redactText(message) : undefined;
  } catch {
    return undefined;
  }
}
