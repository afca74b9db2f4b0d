import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { Observer } from "./support/observer.ts";
import { CODER, Platform } from "./support/platform.ts";
import { clearScript, SCRIPT_END, scripted, serveFor, setScript } from "./support/scripted-container.ts";
import { assertSteady, assertTruth, ended, type Trouble } from "./support/truth.ts";

const OBJECT = `codercontrolplane/${CODER}`;
const MINUTE = 60_000;
const TRUTH_MS = 30_000;

describe.runIf(inject("place")?.coder)("a control plane whose real pods fail", () => {
  let platform: Platform;
  let observer: Observer;
  beforeAll(async () => {
    platform = await Platform.open("failing", { controlPlane: scripted, pools: { linux: {} } });
    observer = new Observer(platform.cluster, platform.namespace);
  });
  beforeEach(({ onTestFailed }) => onTestFailed(async () => console.error(await platform?.story())));
  afterAll(async () => {
    await observer?.[Symbol.asyncDispose]();
    await platform?.[Symbol.asyncDispose]();
  });

  const change = (spec: object) =>
    platform.cluster.kubectl([
      ...["patch", OBJECT, `--namespace=${platform.namespace}`, "--type=merge"],
      `--patch=${JSON.stringify({ spec })}`,
    ]);
  const untilReady = (withinMs = MINUTE) =>
    observer.first((sample) => sample.condition(OBJECT, "Ready")?.status === "True" || undefined, {
      withinMs,
    });

  test("is not exposed by an ingress class that does not exist, and says so", async () => {
    const from = Date.now();
    await change({ expose: { ingress: { host: "coder.example.com", className: "absent" } } });
    const { value: message } = await observer.first(
      (sample) => {
        const condition = sample.condition(OBJECT, "ExposureReady");
        return condition?.status === "False" ? condition.message : undefined;
      },
      { from, withinMs: TRUTH_MS },
    );
    expect(message).toContain('IngressClass "absent" does not exist');
    await change({ expose: null });
    await untilReady();
  });

  test("is without its database, says so within 30 s, and nothing blames a token", async () => {
    const from = Date.now();
    await platform.stopDatabase();
    const { value: ready } = await observer.first(
      (sample) => {
        const condition = sample.condition(OBJECT, "Ready");
        return condition?.reason === "CoderdWithoutDatabase" ? condition : undefined;
      },
      { from, withinMs: TRUTH_MS },
    );
    expect(ready).toMatchObject({ status: "False" });
    expect(ready.message).toContain("coderd cannot reach its database");
    const why = await platform.kubectlCoder("why", OBJECT);
    expect(why.out).toContain("coderd cannot reach its database");
    await platform.startDatabase();
    await untilReady();
    for (const sample of observer.between(from, Number.POSITIVE_INFINITY))
      for (const object of [OBJECT, "coderprovisioner/linux"])
        for (const { message } of sample.conditions(object))
          expect(message).not.toMatch(/valid token|Use a token/);
  });

  test("remains Stalled while coderd crashes repeatedly, also while it is briefly up", async () => {
    const pods = observer.samples
      .at(-1)
      ?.pods(OBJECT)
      .map(({ metadata }) => metadata?.name ?? "");
    await setScript(platform, serveFor(15), pods);
    const trouble: Trouble = {
      object: OBJECT,
      since: ended(SCRIPT_END.exitCode),
      says: ['container "coder"', `exit code ${SCRIPT_END.exitCode}`, SCRIPT_END.lastLine],
    };
    const told = await assertTruth(platform, observer, trouble);
    await assertSteady(observer, trouble, { from: told, restarts: 2 });
    const events = await platform.cluster.list<{ type: string; reason: string; message: string }>([
      ...["events", `--namespace=${platform.namespace}`, "--field-selector=reason=Stalled"],
    ]);
    const crash = events.find(({ message }) => message.includes(`exit code ${SCRIPT_END.exitCode}`));
    expect(crash).toMatchObject({ type: "Warning" });
    await clearScript(platform);
    await untilReady();
  });

  test.runIf(process.env.LONG)("is Stalled when a liveness probe ends coderd", async () => {
    // It stands still some time after its start, so that its probe is not answered.
    await setScript(platform, '/opt/coder "$@" & sleep 25; kill -STOP $!; wait');
    await change({ livenessProbe: { enabled: true, periodSeconds: 2, failureThreshold: 2 } });
    const trouble: Trouble = {
      object: OBJECT,
      since: ended(137),
      says: ['container "coder"', "exit code 137"],
    };
    const told = await assertTruth(platform, observer, trouble);
    await assertSteady(observer, trouble, { from: told, restarts: 2 });
  });
});
