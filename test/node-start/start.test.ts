import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { eventually } from "kube-controller-runtime/testing";
import {
  hasNodeBinaries,
  leftovers,
  obstacle,
  runningNode,
  startNode,
  stopNode,
} from "kube-controller-runtime/testing/node";
import { afterEach, describe, expect, test } from "vitest";
import { hasCoderImageParts } from "../../tools/coder-image/image.ts";

const reason = await whyNot();
if (reason !== undefined) console.warn(`*** NO NODE IS STARTED: ${reason} ***`);
const withoutCoder = !(await hasCoderImageParts());
if (withoutCoder)
  console.warn(
    "*** NO DEMO ON A NODE: the images of Coder are not built yet; `make coder-image` builds them once. ***",
  );

async function whyNot(): Promise<string | undefined> {
  if (!(await hasNodeBinaries()))
    return obstacle() ?? "its binaries are not built yet; `make test-node` builds them.";
  return (await runningNode()) ? "One runs here already; `make node STOP=1` stops it." : obstacle();
}

const run = promisify(execFile);

/** What the command of the Makefile says, in its folder. */
async function make(...words: string[]): Promise<string> {
  const { stdout, stderr } = await run("make", words, {
    cwd: fileURLToPath(new URL("../..", import.meta.url)),
  });
  return `${stdout}${stderr}`;
}

describe.skipIf(reason)("a node", () => {
  afterEach(stopNode);

  test("runs pods, refuses a second start, and leaves nothing behind", async () => {
    const node = await startNode({ log: () => {} });
    await node.apply({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "pod", namespace: "default" },
      spec: { containers: [{ name: "pause", image: "kube-node.local/pause:1" }] },
    });
    await eventually(async () => expect(await node.run(["nft", "list", "tables"])).toContain("kube-proxy"), {
      withinMs: 30_000,
    });
    await eventually(async () => expect((await leftovers()).join()).toMatch(/process \d+ \/pause/), {
      withinMs: 30_000,
    });
    await expect(startNode({ log: () => {} })).rejects.toThrow("A node is already running on this machine");
    await expect(node.run(["ip", "route", "get", "192.0.2.1"])).rejects.toThrow("unreachable");
    await node[Symbol.asyncDispose]();
    await eventually(async () => expect(await leftovers()).toEqual([]), { withinMs: 5_000 });
  });

  test("of `make node` runs on after its end, and `make node STOP=1` leaves nothing behind", async () => {
    expect(await make("node")).toContain("The node is ready");
    const { kubectl, kubeconfig } = (await runningNode()) ?? expect.fail("no node runs");
    const { stdout } = await run(kubectl, [`--kubeconfig=${kubeconfig}`, "get", "nodes", "--no-headers"]);
    expect(stdout).toMatch(/^node\s+Ready/);
    expect(await make("node", "STOP=1")).toContain("nothing is left behind");
    await eventually(async () => expect(await leftovers()).toEqual([]), { withinMs: 5_000 });
  });

  test.skipIf(withoutCoder)("of the demo ends with it, and nothing is left", async () => {
    const said = await make("demo", "NODE=1", "ONCE=1");
    for (const object of ["codercontrolplane/coder", "coderprovisioner/linux", "coderworkspaceproxy/sydney"])
      expect(said).toContain(`${object} is ready`);
    expect(said).toMatch(/coder ssh dev answers: coder@/);
    await eventually(async () => expect(await leftovers()).toEqual([]), { withinMs: 5_000 });
  });

  test.each([{ detached: true }, { detached: false }])(
    "whose starter was killed (detached: $detached) is removed by a stop",
    async ({ detached }) => {
      const code = `import { startNode } from "kube-controller-runtime/testing/node"; await startNode({ detached: ${detached} });`;
      const starter = spawn(process.execPath, ["--input-type=module", "--eval", code], { stdio: "ignore" });
      // While the first programs start.
      await eventually(async () => expect((await leftovers()).join()).toContain("etcd"), {
        withinMs: 20_000,
      });
      starter.kill("SIGKILL");
      await once(starter, "exit");
      await stopNode();
      // The watcher of the starter needs a second to clean up.
      await eventually(async () => expect(await leftovers()).toEqual([]), { withinMs: 5_000 });
    },
  );
});
