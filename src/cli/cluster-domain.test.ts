import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { discoverClusterDomain } from "./cluster-domain.ts";

const folder = await mkdtemp(join(tmpdir(), "resolver-"));
afterAll(() => rm(folder, { recursive: true }));

async function domainOf(text: string): Promise<string> {
  const file = join(folder, "resolv.conf");
  await writeFile(file, text);
  return discoverClusterDomain(file);
}

test.each([
  [
    "of the usual kind",
    "search coder-system.svc.cluster.local svc.cluster.local cluster.local",
    "cluster.local",
  ],
  [
    "of another kind",
    "search x.svc.k8s.corp svc.k8s.corp k8s.corp corp.example\nnameserver 10.0.0.10",
    "k8s.corp",
  ],
  ["with a dot at its end", "search x.svc.k8s.corp. svc.k8s.corp. k8s.corp.", "k8s.corp"],
  ["that is given twice, of which the last counts", "search svc.old\nsearch svc.new.example", "new.example"],
  ["of a host", "search corp.example\nnameserver 192.0.2.1", "cluster.local"],
  ["that is empty", "", "cluster.local"],
])("the cluster's domain is found in a search path %s", async (_case, text, expected) => {
  expect(await domainOf(text)).toBe(expected);
});

test("without a resolver's file the cluster's domain is the usual one", async () => {
  expect(await discoverClusterDomain(join(folder, "missing"))).toBe("cluster.local");
});
