import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { TestPlace } from "./place.ts";

/** A port of a Service, as this machine reaches it. */
export interface ForwardedPort extends AsyncDisposable {
  readonly url: string;
}

/** Forwards a port of a Service to this machine, as on any cluster, until it is disposed of. */
export async function forwardPort(
  { kubectl, kubeconfig }: TestPlace,
  {
    namespace,
    service,
    port,
  }: { readonly namespace: string; readonly service: string; readonly port: number },
): Promise<ForwardedPort> {
  const args = [
    "port-forward",
    `--kubeconfig=${kubeconfig}`,
    `--namespace=${namespace}`,
    `service/${service}`,
    `:${port}`,
  ];
  const child = spawn(kubectl, args, { stdio: ["ignore", "pipe", "ignore"] });
  const exited = once(child, "exit");
  for await (const line of createInterface({ input: child.stdout })) {
    const [, local] = /^Forwarding from 127\.0\.0\.1:(\d+)/.exec(line) ?? [];
    if (local === undefined) continue;
    child.stdout.resume();
    return {
      url: `http://127.0.0.1:${local}`,
      [Symbol.asyncDispose]: async () => {
        child.kill();
        await exited;
      },
    };
  }
  throw new Error(`port ${port} of Service "${namespace}/${service}" could not be forwarded`);
}
