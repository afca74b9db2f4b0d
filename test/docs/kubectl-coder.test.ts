import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CustomResourceDefinition, kind, type Transport } from "kube-controller-runtime";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy } from "../../src/api/v1alpha1/kinds.ts";
import { kubectlCoder, reviewing } from "../support/plugin.ts";
import { type Frame, framesOf, PAGE, plainFrame } from "../support/plugin-frames.ts";
import { setUpScene } from "../support/plugin-scene.ts";
import { MemoryWorld } from "../support/world/memory.ts";

const world = new MemoryWorld();
const frames = framesOf(await readFile(PAGE, "utf8"));
let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "coder-k8s-frames-"));
  await setUpScene({ client: world.person, namespace: "coder", now: world.clock.now() });
  await setUpRest();
  if (process.env.RENEW) await renewPage();
});
afterAll(() => rm(dir, { recursive: true }));

/** What only a whole cluster has: CRDs, finalizers of the operator, ReplicaSets. */
async function setUpRest(): Promise<void> {
  const labels = { "app.kubernetes.io/version": "1.2.3" };
  for (const { plural } of [CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy])
    await world.person.create(CustomResourceDefinition, {
      metadata: { name: `${plural}.coder.com`, labels },
    } as never);
  const finalizers = ["coder.com/provisioner-key-cleanup"];
  for (const name of ["linux", "gpu"])
    await world.person.mergePatch(
      CoderProvisioner,
      { namespace: "coder", name },
      { metadata: { finalizers } },
    );
  world.api.install(kind("apps/v1", { kind: "ReplicaSet", plural: "replicasets" }));
}

/** With what kubelets and the server itself answer. */
const whole: Transport = {
  close: async () => {},
  send: async (request) => {
    if (!/\/log\?|\/version$/.test(request.path)) return world.api.send(request);
    return { status: 200, headers: {}, body: lines() };
  },
};

async function* lines(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("{}\n");
}

async function shownBy({ words }: Frame): Promise<string> {
  const transport = reviewing(whole, () => true);
  const person = { transport, clock: world.clock, namespace: "coder", columns: 100 };
  const { out, error } = await kubectlCoder(
    person,
    ...words.map((word) => word.replace("report.zip", `${dir}/report.zip`)),
  );
  return `${out}${error}`.replaceAll(`${dir}/`, "");
}

/** `RENEW=1` writes the page as the plugin answers now. */
async function renewPage(): Promise<void> {
  let page = await readFile(PAGE, "utf8");
  for (const frame of frames) page = page.replace(frame.block, await renewed(frame));
  await writeFile(PAGE, page);
}

async function renewed(frame: Frame): Promise<string> {
  return `\`\`\`text\n$ kubectl coder ${frame.words.join(" ")}\n${(await shownBy(frame)).trimEnd()}\n\`\`\``;
}

test.each(frames.filter(() => !process.env.RENEW))(
  "a terminal shows what the page shows for `$words`",
  async (frame) => {
    expect(plainFrame(await shownBy(frame))).toBe(plainFrame(frame.text));
  },
);

test("the page has a frame of every command that shows something of a cluster", () => {
  const shown = new Set(frames.map(({ words }) => words[0]));
  for (const name of ["status", "why", "pause", "resume", "restart", "rotate", "check", "bundle"])
    expect(shown).toContain(name);
});
