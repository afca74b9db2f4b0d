import { readFile } from "node:fs/promises";
import { delimiter, dirname } from "node:path";
import { eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Place } from "../support/demo.ts";
import { type DemoAccess, demoKubectl, setUpTrouble } from "../support/demo-fixture.ts";
import { plainFrame, readFrames, renewFrames } from "../support/plugin-frames.ts";
import { Call, CTRL_C, type Shown } from "../support/pseudo-terminal.ts";

const START_MS = 150_000;

/** `RENEW=1` writes the frames of the documentation instead of comparing them. */
const isRenewing = Boolean(process.env.RENEW);
const frames = new Map((await readFrames()).map(({ line, text }) => [line, text]));

let place: Place;
let demo: ReturnType<Place["start"]>;
let access: DemoAccess;
beforeAll(async () => {
  place = await Place.make();
  demo = place.start(process.execPath, "demo/main.ts");
  await demo.untilPrinted("Press Ctrl-C to stop everything");
  access = {
    kubeconfig: idea(/export KUBECONFIG=(.*)/),
    kubectl: idea(/alias kubectl=(.*)/),
    coderdUrl: idea(/simulated at (http:\S+)/),
  };
}, START_MS);
afterAll(async () => {
  demo.signal("SIGKILL");
  await demo.ended;
  await place[Symbol.asyncDispose]();
});

/** What the guide of the demo says. */
const idea = (pattern: RegExp) => pattern.exec(demo.output)?.[1] ?? "";

test("the demo shows how to play, and what it offers works", async () => {
  expect(demo.output).toContain('`pods "local" not found`');
  const leader = await readFile(idea(/kill -9 \$\(cat (.*)\)/), "utf8");
  expect(demo.output).toContain(`(pid ${leader.trim()}) leads`);
  const log = await readFile(idea(/tail -F (.*operator-.*)/).replace("*", "1"), "utf8");
  expect(log).toContain("starting operator");
  await demoKubectl(access, idea(/kubectl (apply -f .*premium.*)/).split(" "));
  await demo.untilPrinted("license premium");
});

/** The daemons that were restarted and got another key are replaced one by one, each after half a minute. */
const ROLLOUT_MS = 240_000;

describe("in a pseudo-terminal on the demo, with the real operator", () => {
  const seen = new Map<string, string>();
  beforeAll(() => setUpTrouble(access), START_MS);
  afterAll(() => (isRenewing ? renewFrames(seen) : undefined));

  /** `kubectl coder …` as typed by a user of the guide. */
  function typed(line: string): Call {
    const path = [idea(/export PATH=(.*):\$PATH/), dirname(process.execPath), process.env.PATH];
    const env = { KUBECONFIG: access.kubeconfig, PATH: path.join(delimiter), HOME: place.dir, KUBERC: "off" };
    return new Call([access.kubectl, "coder", ...line.split(" ")], { env, cwd: place.dir });
  }

  function compare(line: string, { code, text }: Shown, exit: number): void {
    seen.set(line, text);
    if (!isRenewing) expect(plainFrame(text)).toBe(plainFrame(frames.get(line) ?? ""));
    expect(code).toBe(exit);
  }

  test.each([
    ["status", 3],
    ["why provisioner/gpu", 3],
    ["why workspace/alice/dev", 3],
    ["why build/7a1c", 3],
    ["upgrade check ghcr.io/coder/coder:v2.37.0", 0],
    ["check", 0],
    ["bundle --file report.zip", 0],
    ["import helm coder -n legacy", 0],
    ["import helm coder -n legacy --check", 0],
    ["completion", 0],
    ["pause provisioner/gpu", 0],
    ["resume provisioner/gpu", 0],
    ["restart provisioner/linux", 0],
    ["rotate provisioner linux", 0],
    ["rotate token coder", 0],
  ])("`kubectl coder %s` shows what its page shows and ends with %i", async (line, exit) => {
    compare(line, await typed(line).ended, exit);
  });

  test("`kubectl coder mcp` waits for an assistant until Ctrl-C", async () => {
    const call = typed("mcp");
    await call.until((screen) => expect(screen).toContain("Press Ctrl-C to exit."));
    call.press(CTRL_C);
    compare("mcp", await call.ended, 0);
  });

  test(
    "`kubectl coder status --watch` draws what changes in the place of what was",
    async () => {
      const call = typed("status --watch");
      await call.until((screen) => expect(screen).toMatch(/✗ {2}gpu/));
      await demoKubectl(access, ["create", "secret", "generic", "cuda", "--from-literal=license=any"]);
      const rest = /✓ {2}burst(.*\n)+ +✓ {2}gpu +1 +1 (.*\n)+ +✓ {2}linux +2 +2 /;
      await call.until((screen) => {
        expect(screen).toMatch(rest);
        expect(screen.match(/^ {2}[✗…] \w+\/.*/gm)).toHaveLength(1);
      }, ROLLOUT_MS);
      call.press(CTRL_C);
      compare("status --watch", await call.ended, 3);
    },
    ROLLOUT_MS,
  );

  test("no frame of the documentation is left that this file does not make", () => {
    expect([...frames.keys()].toSorted()).toEqual([...seen.keys()].toSorted());
  });
});

test("a demo that is killed leaves nothing behind", async () => {
  demo.signal("SIGKILL");
  await demo.ended;
  const mine = ["report.zip", ".kube", ".npm"];
  await eventually(
    async () => expect((await place.leftovers()).filter((name) => !mine.includes(name))).toEqual([]),
    { withinMs: 20_000 },
  );
});
