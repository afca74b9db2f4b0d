import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Signposts } from "./signposts.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "coder-k8s-signposts-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function replica(number: number, pid: number, leads: boolean) {
  const logFile = join(folder, `log-of-${pid}`);
  await writeFile(logFile, `${pid} writes`);
  return { number, pid, leads, logFile, metricsAddress: `127.0.0.1:${pid}` };
}

test("signposts lead to the leader and the logs of the moment, also after a failover", async () => {
  const posts = new Signposts(folder);
  const standby = await replica(2, 22, false);
  await posts.point([await replica(1, 11, true), standby]);
  expect(await readFile(posts.leader, "utf8")).toBe("11\n");
  await posts.point([standby]);
  expect(await readFile(posts.leader, "utf8")).toBe("11\n");
  await posts.point([await replica(1, 33, false), { ...standby, leads: true }]);
  expect(await readFile(posts.leader, "utf8")).toBe("22\n");
  expect(await readFile(posts.logs.replace("*", "1"), "utf8")).toBe("33 writes");
  expect(await readFile(posts.logs.replace("*", "2"), "utf8")).toBe("22 writes");
});
