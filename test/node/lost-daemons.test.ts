import { eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { TIME_LIMIT } from "./support/cluster.ts";
import { condemn, FATAL, mortal } from "./support/fate.ts";
import { Observer } from "./support/observer.ts";
import { CODER, Platform } from "./support/platform.ts";
import { assertTruth, ended, sentencesOfWhy } from "./support/truth.ts";
import { Workspaces } from "./support/workspaces.ts";

const POOL = "coderprovisioner/mortal";
const TRUTH_MS = 30_000;

describe.runIf(inject("place")?.coder)("builds of a pool whose daemons die every 2 s", () => {
  let platform: Platform;
  let observer: Observer;
  let workspaces: Workspaces;
  /** The daemon that works on the first build, and with whose pod it is lost. */
  let worker: string;
  beforeAll(async () => {
    platform = await Platform.open("lost", { pools: { mortal: { ...mortal, tags: { pool: "mortal" } } } });
    observer = new Observer(platform.cluster, platform.namespace);
    workspaces = new Workspaces(platform);
    await workspaces.pushTemplate("endless", "pod", {
      tags: { pool: "mortal" },
      image: "localhost/no/such:image",
    });
  });
  beforeEach(({ onTestFailed }) => onTestFailed(async () => console.error(await platform?.story())));
  afterAll(async () => {
    await observer?.[Symbol.asyncDispose]();
    await platform?.[Symbol.asyncDispose]();
  });

  const why = async (name: string) => {
    const { out, code } = await platform.kubectlCoder("why", `workspace/${name}`, "--output=json");
    expect(code).toBe(3);
    return sentencesOfWhy(out);
  };
  const job = async (name: string) => (await platform.admin.workspace(name)).latest_build.job;

  test("are one that runs on a daemon whose pod is gone, and two that wait for a pool that crashes", async () => {
    void workspaces.create("one", "endless");
    await eventually(async () => expect(await job("one")).toMatchObject({ status: "running" }), TIME_LIMIT);
    worker = observer.sights.at(-1)?.pods(POOL)[0]?.metadata?.name ?? expect.fail("the pool has no pod");
    // What starts from now on never gets as far as to coderd, or the builds might still be begun.
    await condemn(platform, "sleep 2");
    const forced = ["--grace-period=0", "--force", `--namespace=${platform.namespace}`];
    await platform.cluster.kubectl(["delete", "pod", worker, ...forced]);
    void workspaces.create("two", "endless");
    void workspaces.create("three", "endless");
    const trouble = {
      object: POOL,
      since: ended(FATAL.exitCode),
      says: ['container "provisioner"', `exit code ${FATAL.exitCode}`, FATAL.lastLine],
    };
    await assertTruth(platform, observer, trouble);
    for (const name of ["two", "three"])
      await eventually(async () => expect(await job(name)).toMatchObject({ status: "pending" }), TIME_LIMIT);
  });

  test("are told by BuildsServed with the exit code and the daemon, within 30 s", async () => {
    const builds = `codercontrolplane/${CODER}`;
    const { at } = await observer
      .first(
        (sight) => {
          const { status, message = "" } = sight.condition(builds, "BuildsServed") ?? {};
          const said = [
            "2 builds wait",
            `exit code ${FATAL.exitCode}`,
            "1 build runs",
            worker,
            "its pod is gone",
          ];
          return (status === "False" && said.every((part) => message.includes(part))) || undefined;
        },
        { from: 0, withinMs: 2 * TRUTH_MS },
      )
      .catch((error) => {
        console.error(observer.sights.at(-1)?.condition(builds, "BuildsServed"));
        throw error;
      });
    console.warn("BuildsServed", at);
  });

  test("are explained by why, which gives no advice that does not help", async () => {
    const lost = await why("one");
    expect(lost).toContain(`It runs on daemon "${worker}", whose pod is gone`);
    for (const name of ["two", "three"]) {
      const said = await why(name);
      expect(said).toContain(`exit code ${FATAL.exitCode}`);
      expect(said).toContain(POOL);
      expect(said).not.toMatch(/raise spec.replicas|Nothing is wrong|DNS/);
    }
  });
});
