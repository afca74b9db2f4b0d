import { PassThrough } from "node:stream";
import type { Clock, Transport, TransportRequest } from "kube-controller-runtime";
import { clusterOver } from "../../src/plugin/cluster.ts";
import { runPlugin } from "../../src/plugin/run.ts";

/** What a person sees of a call. */
export interface Seen {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

export interface Person {
  readonly transport: Transport;
  readonly clock: Clock;
  /** That of the kubeconfig's context. */
  readonly namespace: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly fetch?: typeof fetch;
  readonly signal?: AbortSignal;
  /** A terminal with this many columns and Unicode, without colors; absent means a pipe. */
  readonly columns?: number;
}

/** Runs `kubectl coder` with these arguments in this process. */
export async function kubectlCoder(person: Person, ...args: string[]): Promise<Seen> {
  const { transport, clock, namespace, columns } = person;
  let [out, error] = ["", ""];
  const collect = (add: (text: string) => void) => ({
    write: (text: unknown) => {
      add(String(text));
      return true;
    },
  });
  const code = await runPlugin({
    args,
    env: { LANG: "C.UTF-8", NO_COLOR: "1", ...person.env },
    stdin: new PassThrough(),
    stdout: {
      ...collect((text) => (out += text)),
      ...(columns ? { isTTY: true, columns, rows: 1_000 } : {}),
    },
    stderr: collect((text) => (error += text)),
    signal: person.signal ?? new AbortController().signal,
    clock,
    version: "1.2.3",
    fetch: person.fetch ?? (() => Promise.reject(new Error("no network in this test"))),
    open: async (where) =>
      clusterOver(transport, {
        clock,
        version: "1.2.3",
        ...where,
        homeNamespace: where.namespace ?? namespace,
      }),
  });
  return { code, out, error };
}

/** The transport of a person who may do only what `allows` says. */
export function limited(transport: Transport, allows: (request: TransportRequest) => boolean): Transport {
  return {
    close: async () => {},
    send: async (request) => {
      if (allows(request)) return transport.send(request);
      const status = { kind: "Status", apiVersion: "v1", status: "Failure", reason: "Forbidden", code: 403 };
      const body = Buffer.from(JSON.stringify({ ...status, message: "forbidden: no rights" }));
      return { status: 403, headers: { "content-type": "application/json" }, body: bytes(body) };
    },
  };
}

/** The transport to an API server that lets the operator do what `mayOperator` says. */
export function reviewing(
  transport: Transport,
  mayOperator: (verb: string, resource: string, user: string) => boolean,
): Transport {
  return {
    close: async () => {},
    send: async (request) => {
      if (!request.path.includes("subjectaccessreviews")) return transport.send(request);
      const review = JSON.parse(request.body ?? "{}");
      const { user, resourceAttributes } = review.spec;
      const allowed = mayOperator(resourceAttributes.verb, resourceAttributes.resource, user);
      const body = Buffer.from(JSON.stringify({ ...review, status: { allowed } }));
      return { status: 201, headers: { "content-type": "application/json" }, body: bytes(body) };
    },
  };
}

async function* bytes(body: Uint8Array): AsyncGenerator<Uint8Array> {
  yield body;
}
