import { eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { TIME_LIMIT } from "./support/cluster.ts";
import { Observer, type Sample } from "./support/observer.ts";
import { CODER, Platform } from "./support/platform.ts";
import { SCRIPT_END, scripted, setScript } from "./support/scripted-container.ts";
import { assertTruth, ended, sentencesOfWhy } from "./support/truth.ts";
import { Workspaces } from "./support/workspaces.ts";

const POOL = "coderprovisioner/scripted";
const TRUTH_MS = 30_000;

describe.runIf(inject("place")?.coder)("builds of a pool whose daemons die every 2 s", () => {
  let platform: Platform;
  let observer: Observer;
  let workspaces: Workspaces;
  /** The daemon that works on the first build, and with whose pod it is lost. */
  let worker: string;
  let waitingSince: number;
  beforeAll(async () => {
    platform = await Platform.open("lost", {
      pools: { scripted: { ...scripted, tags: { pool: "scripted" } } },
    });
    observer = new Observer(platform.cluster, platform.namespace);
    workspaces = new Workspaces(platform);
    await workspaces.pushTemplate("endless", "pod", {
      tags: { pool: "scripted" },
      image: "localhost/no/such:image",
    });
  });
  beforeEach(({ onTestFailed }) => onTestFailed(async () => console.error(await platform?.story())));
  afterAll(async () => {
    await observer?.[Symbol.asyncDispose]();
    await platform?.[Symbol.asyncDispose]();
  });

  /** Begins to build a workspace without the plan that `coder create` waits for. */
  const begin = async (name: string) => {
    const { id } = await platform.admin.get<{ id: string }>(
      "/api/v2/organizations/default/templates/endless",
    );
    await platform.admin.post("/api/v2/users/me/workspaces", { name, template_id: id });
  };
  const why = async (name: string) => {
    const { out, code } = await platform.kubectlCoder("why", `workspace/${name}`, "--output=json");
    expect(code, out).toBe(3);
    return sentencesOfWhy(out);
  };
  const job = async (name: string) => (await platform.admin.workspace(name)).latest_build.job;

  test("are one that runs on a daemon whose pod is gone, and two that wait for a pool that crashes", async () => {
    await begin("one");
    await eventually(async () => expect(await job("one")).toMatchObject({ status: "running" }), TIME_LIMIT);
    worker = observer.samples.at(-1)?.pods(POOL)[0]?.metadata?.name ?? expect.fail("the pool has no pod");
    // New pods never reach coderd, otherwise the builds might still start.
    await setScript(platform, "sleep 2");
    // A daemon that is asked to end would still report its build.
    const stop = ["/bin/sh", "-c", "kill -STOP -1"];
    await platform.cluster.kubectl(["exec", worker, `--namespace=${platform.namespace}`, "--", ...stop]);
    const forced = ["--grace-period=0", "--force", `--namespace=${platform.namespace}`];
    await platform.cluster.kubectl(["delete", "pod", worker, ...forced]);
    for (const name of ["two", "three"]) await begin(name);
    waitingSince = Date.now();
    const trouble = {
      object: POOL,
      since: ended(SCRIPT_END.exitCode),
      says: ['container "provisioner"', `exit code ${SCRIPT_END.exitCode}`, SCRIPT_END.lastLine],
    };
    await assertTruth(platform, observer, trouble);
    for (const name of ["two", "three"]) expect(await job(name)).toMatchObject({ status: "pending" });
  });

  test("are reported by BuildsServed with the exit code and the daemon within 30 s", async () => {
    const says = [
      "2 builds are waiting",
      `exit code ${SCRIPT_END.exitCode}`,
      "1 build has been running",
      worker,
      "its pod is gone",
    ];
    const isReported = (sample: Sample) => {
      const { status, message = "" } = sample.condition(`codercontrolplane/${CODER}`, "BuildsServed") ?? {};
      return (status === "False" && says.every((part) => message.includes(part))) || undefined;
    };
    await observer.first(isReported, { from: waitingSince, withinMs: TRUTH_MS });
    const [first] = observer.samples.filter((sample) => isReported(sample));
    expect((first?.at ?? Number.POSITIVE_INFINITY) - waitingSince).toBeLessThanOrEqual(TRUTH_MS);
  });

  test("are explained by why, which gives no advice that does not help", async () => {
    const lost = await why("one");
    expect(lost).toContain(`The build runs on daemon "${worker}", whose pod no longer exists`);
    for (const name of ["two", "three"]) {
      const said = await why(name);
      expect(said).toContain(`exit code ${SCRIPT_END.exitCode}`);
      expect(said).toContain("provisioner/scripted");
      expect(said).not.toMatch(/raise spec.replicas|No problems|DNS/);
    }
  });
});
