import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { V1Pod, V1Secret } from "@kubernetes/client-node";
import { eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { unzipped } from "../support/unzipped.ts";
import { TIME_LIMIT } from "./support/cluster.ts";
import { Platform, poolOf } from "./support/platform.ts";
import { Workspaces } from "./support/workspaces.ts";

describe.runIf(inject("place")?.coder)("a bundle from real pods", () => {
  let platform: Platform;
  let dir: string;
  let files: Map<string, string>;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "coder-k8s-bundle-"));
    // What coderd and its daemons log most: every request and every step of a build.
    const verbose = [{ name: "CODER_VERBOSE", value: "true" }];
    platform = await Platform.open("bundle", {
      controlPlane: { extraEnv: verbose },
      pools: { linux: { extraEnv: verbose } },
    });
    const workspaces = new Workspaces(platform);
    await workspaces.pushTemplate("pod", "pod");
    await workspaces.create("dev", "pod");
    await crash("leaky");
    const secrets = await platform.cluster.list<V1Secret>(["secrets", `--namespace=${platform.namespace}`]);
    for (const { data = {} } of secrets)
      platform.secrets.add(...Object.values(data).map((value) => Buffer.from(value, "base64").toString()));
    const file = join(dir, "bundle.zip");
    const { code, out } = await platform.kubectlCoder("bundle", "--file", file);
    expect(code, out).toBe(0);
    files = await unzipped(file);
  });
  afterAll(async () => {
    await platform?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  /** A pool whose container prints its key before it ends, again and again. */
  async function crash(name: string): Promise<void> {
    const { cluster, namespace } = platform;
    const script = 'env; echo "no provisioner $CODER_PROVISIONER_DAEMON_KEY" >&2; exit 7';
    await cluster.apply(poolOf({ namespace, name }, { command: ["sh", "-c", script], tags: { name } }));
    await eventually(async () => {
      const selector = `--selector=app.kubernetes.io/instance=${name}`;
      const counts = await cluster.kubectl([
        ...["get", "pods", `--namespace=${namespace}`, selector],
        "--output=jsonpath={.items[*].status.containerStatuses[*].restartCount}",
      ]);
      expect(Number(counts)).toBeGreaterThan(0);
    }, TIME_LIMIT);
  }

  test("has the logs of coderd, of its daemons and of a run before", () => {
    const logs = [...files].filter(([path]) => path.startsWith("logs/"));
    const sized = logs.map(
      ([path, text]) => `${path.replace(/-[0-9a-z]+-[0-9a-z]{5}\//, "/")} ${text.length > 0}`,
    );
    expect(sized).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/\/coder\/coder\.log true$/),
        expect.stringMatching(/\/provisioner-linux\/\w+\.log true$/),
        expect.stringMatching(/\/provisioner-leaky\/\w+\.previous\.log true$/),
      ]),
    );
  });

  test("shows no value of a Secret, no password of the database and no token that a pod printed", () => {
    expect(platform.secrets.size).toBeGreaterThan(4);
    for (const [path, text] of files) expect(platform.secrets.foundIn(text), path).toEqual([]);
  });

  test("shows an assistant no more of the logs of the same pods", async () => {
    await using assistant = await platform.assistant();
    const pods = await platform.cluster.list<V1Pod>([
      ...["pods", `--namespace=${platform.namespace}`],
      "--selector=app.kubernetes.io/managed-by=coder-k8s",
    ]);
    for (const { metadata } of pods) {
      const answer = await assistant.ask("logs", { pod: metadata?.name, lines: 500 });
      expect(platform.secrets.foundIn(answer), metadata?.name).toEqual([]);
    }
    const [leaky] = pods.filter(({ metadata }) => metadata?.name?.includes("leaky"));
    // A kubelet removes the log of the container before when the container restarts once more.
    await eventually(async () => {
      const quoted = await assistant.ask("logs", { pod: leaky?.metadata?.name, previous: true });
      expect(quoted).toContain("no provisioner [redacted]");
    }, TIME_LIMIT);
  });
});
