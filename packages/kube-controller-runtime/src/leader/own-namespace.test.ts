import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ownNamespace } from "./own-namespace.ts";

let directory: string;
let mounted: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "kube-namespace-"));
  mounted = join(directory, "namespace");
  await writeFile(mounted, "operators\n");
});
afterAll(() => rm(directory, { recursive: true }));

describe("the namespace of this process", () => {
  test("is that of POD_NAMESPACE first", async () => {
    expect(await ownNamespace("pods", mounted)).toBe("pods");
  });

  test("is that of the service account next, also when POD_NAMESPACE is empty", async () => {
    expect(await ownNamespace(undefined, mounted)).toBe("operators");
    expect(await ownNamespace("", mounted)).toBe("operators");
  });

  test("is kube-system outside of a cluster", async () => {
    expect(await ownNamespace(undefined, join(directory, "absent"))).toBe("kube-system");
  });
});
