import { join } from "node:path";
import { onFreePort, untilReady } from "./start.ts";
import { Supervised } from "./supervised.ts";

/** A running etcd with the calls of its HTTP gateway that tests need. */
export interface Etcd {
  readonly url: string;
  readonly process: Supervised;
}

/** Starts etcd on a free port. It never syncs to disk: its data is only needed for one test run. */
export async function startEtcd(
  binary: string,
  dir: string,
  extraFlags: readonly string[] = [],
): Promise<Etcd> {
  return onFreePort(async (port) => {
    const url = `http://127.0.0.1:${port}`;
    const etcd = new Supervised({
      command: binary,
      args: [...etcdFlags(url, dir), ...extraFlags],
      logFile: join(dir, "etcd.log"),
      scratch: dir,
    });
    await untilReady(etcd, () => isOurs(url, dir));
    return { url, process: etcd };
  });
}

function etcdFlags(url: string, dir: string): string[] {
  return [
    `--name=${dir}`,
    `--data-dir=${join(dir, "etcd")}`,
    `--initial-cluster=${dir}=http://127.0.0.1:0`,
    "--initial-advertise-peer-urls=http://127.0.0.1:0",
    "--listen-peer-urls=http://127.0.0.1:0",
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    "--unsafe-no-fsync",
    "--log-level=warn",
  ];
}

/** The name distinguishes this etcd from another that took the port first. */
async function isOurs(url: string, name: string): Promise<boolean> {
  const answer = await call(url, "cluster/member/list", {});
  const { members } = answer as { members?: { name?: string }[] };
  return members?.some((member) => member.name === name) ?? false;
}

/** Drops every revision but the current one. */
export async function compactEtcd(url: string): Promise<void> {
  const { header } = (await call(url, "kv/range", { key: "AA==", limit: 1 })) as {
    header: { revision: string };
  };
  await call(url, "kv/compaction", { revision: header.revision, physical: true });
}

async function call(url: string, method: string, body: object): Promise<unknown> {
  const response = await fetch(`${url}/v3/${method}`, { method: "POST", body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`etcd ${method}: ${response.status} ${await response.text()}`);
  return response.json();
}
