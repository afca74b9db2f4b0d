import {
  ApiError,
  type Client,
  type Clock,
  HttpClient,
  httpTransport,
  type Kind,
  type KubeObject,
  loadCredentials,
  type Stored,
  type Transport,
} from "kube-controller-runtime";
import { redactText } from "../coder/redact.ts";

/** The flags that every command has to select a cluster and a namespace. */
export interface Where {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly namespace?: string | undefined;
  readonly allNamespaces?: boolean | undefined;
}

/** The cluster, accessed with the user's credentials only. */
export interface Cluster {
  readonly client: Client;
  /** The namespace to read; `undefined` means all namespaces. */
  readonly namespace: string | undefined;
  /** The namespace given by a flag; `undefined` if it comes from the kubeconfig or is not set. */
  readonly chosenNamespace: string | undefined;
  /** The namespace of an object that was given by name alone. */
  readonly homeNamespace: string;
  /** The API server's time from its last response, because the local clock may be wrong. */
  readonly now: () => number;
  /** Reads a path of the API that does not return JSON: logs, or metrics through a proxy. */
  readonly text: (path: string) => Promise<string>;
  readonly close: () => Promise<void>;
}

const PAGE = 500;
const TEXT_TIMEOUT_MS = 30_000;
/** Maximum length of a log or of metrics. */
const MAX_TEXT_LENGTH = 4 * 1024 * 1024;

/**
 * Finds the kubeconfig and its context by the rules of kubectl. If there is none, throws an error that says
 * what to set.
 */
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

/** Reads the server's time from the `Date` header of its responses. */
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

/** All objects of a kind in a namespace, or in all namespaces. */
export async function listAll<T extends KubeObject>(
  client: Pick<Client, "list">,
  kind: Kind<T>,
  selection: Selection,
): Promise<Stored<T>[]> {
  const items: Stored<T>[] = [];
  let continueToken: string | undefined;
  do {
    const page = await client.list(kind, { ...selection, limit: PAGE, continueToken });
    // A list omits the fields that are the same for all of its items.
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

/** The server's error message, if it responded with a Status. */
function refusalIn(text: string): string | undefined {
  try {
    const { message } = JSON.parse(text) as { readonly message?: unknown };
    return typeof message === "string" ? redactText(message) : undefined;
  } catch {
    return undefined;
  }
}
