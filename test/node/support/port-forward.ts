import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { TestCluster } from "./test-cluster.ts";

const RETRY_MS = 200;

/** A port of a Service, as this machine reaches it. */
export interface ForwardedPort extends AsyncDisposable {
  readonly url: string;
}

interface Target {
  readonly namespace: string;
  readonly service: string;
  readonly port: number;
}

interface Forwarding {
  readonly local: string;
  readonly ended: Promise<unknown>;
}

/**
 * Forwards a port of a Service to this machine, as on any cluster, until it is disposed of. kubectl forwards to one pod:
 * when that ends, the same port leads to another.
 */
export async function forwardPort(place: TestCluster, target: Target): Promise<ForwardedPort> {
  const end = new AbortController();
  const { local, ended } = await forward(place, { ...target, local: "" }, end.signal);
  const over = goOn(ended, {
    signal: end.signal,
    again: () => forward(place, { ...target, local }, end.signal),
  });
  return {
    url: `http://127.0.0.1:${local}`,
    [Symbol.asyncDispose]: () => {
      end.abort();
      return over;
    },
  };
}

async function goOn(
  first: Promise<unknown>,
  { again, signal }: { again: () => Promise<Forwarding>; signal: AbortSignal },
): Promise<void> {
  await first;
  while (!signal.aborted) {
    await again().then(
      ({ ended }) => ended,
      () => sleep(RETRY_MS),
    );
  }
}

/** One process of kubectl, once it forwards. */
async function forward(
  { kubectl, kubeconfig }: TestCluster,
  { namespace, service, port, local }: Target & { readonly local: string },
  signal: AbortSignal,
): Promise<Forwarding> {
  const args = [
    "port-forward",
    `--kubeconfig=${kubeconfig}`,
    `--namespace=${namespace}`,
    `service/${service}`,
    `${local}:${port}`,
  ];
  const child = spawn(kubectl, args, { stdio: ["ignore", "pipe", "ignore"] });
  const ended = once(child, "exit");
  const kill = () => child.kill();
  signal.addEventListener("abort", kill);
  void ended.then(() => signal.removeEventListener("abort", kill));
  for await (const line of createInterface({ input: child.stdout })) {
    const [, found] = /^Forwarding from 127\.0\.0\.1:(\d+)/.exec(line) ?? [];
    if (found === undefined) continue;
    child.stdout.resume();
    return { local: found, ended };
  }
  throw new Error(`port ${port} of Service "${namespace}/${service}" could not be forwarded`);
}
