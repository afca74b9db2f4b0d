import type { V1Pod } from "@kubernetes/client-node";
import { eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { mint } from "../../lab/mint.ts";
import { openDatabase } from "../../lab/postgres.ts";
import { TIME_LIMIT } from "./support/cluster.ts";
import { Platform, secret } from "./support/platform.ts";
import { LASTING, SlowBuilds } from "./support/slow-builds.ts";

const CONTROL_PLANE = "codercontrolplane/coder";
const MAX_DAEMONS = 3;
/** These end the only pod of coderd. */
const REPLACES_CODERD = /^(coderd at zero|a change of the database)/;
/**
 * A daemon gives a build up when coderd takes no update for 30 s. Connecting takes as long if the daemon dials a pod in the
 * moment in which it ends.
 */
const GIVEN_UP = "send periodic update: context deadline exceeded";

interface PoolStatus {
  readonly status?: { readonly desiredReplicas?: number; readonly provisionerKeyID?: string };
}

interface ControlPlaneSeen {
  readonly status?: { readonly licenseLastAppliedHash?: string; readonly readyReplicas?: number };
}

describe.runIf(inject("place")?.coder)("builds on real pods", () => {
  let platform: Platform;
  let builds: SlowBuilds;
  const autoscaling = { minReplicas: 0, maxReplicas: MAX_DAEMONS, pollSeconds: 5, keepWarmMinutes: 0 };
  beforeAll(async () => {
    platform = await Platform.open("builds", {
      controlPlane: { restartOn: "All" },
      pools: {
        steady: { tags: { pool: "steady" } },
        queue: { tags: { pool: "queue" }, autoscaling: { ...autoscaling, scaleDownDelaySeconds: 0 } },
      },
    });
    builds = new SlowBuilds(platform);
    await builds.pushTemplate("steady", { seconds: LASTING, pool: "steady" });
  });
  beforeEach(({ onTestFailed }) => onTestFailed(async () => console.error(await platform?.story())));
  afterAll(() => platform?.[Symbol.asyncDispose]());

  const seen = <T>(object: string) => platform.cluster.get<T>([object, `--namespace=${platform.namespace}`]);
  const pool = (name: string) => seen<PoolStatus>(`coderprovisioner/${name}`);

  function pods(name: string): Promise<readonly V1Pod[]> {
    const selector = `--selector=app.kubernetes.io/instance=${name}`;
    return platform.cluster.list<V1Pod>(["pods", `--namespace=${platform.namespace}`, selector]);
  }

  /** The names of pods that stay. */
  async function staying(name: string): Promise<string[]> {
    return (await pods(name))
      .filter(({ metadata }) => metadata?.deletionTimestamp === undefined)
      .map(({ metadata }) => metadata?.name ?? "")
      .sort();
  }

  async function untilNoneStays(name: string): Promise<void> {
    await eventually(async () => expect(await staying(name)).toEqual([]), TIME_LIMIT);
  }

  /** What may happen while a daemon builds, up to where the new state holds. */
  const upheavals: Readonly<Record<string, () => Promise<void>>> = {
    "a rotation of its pool's key": async () => {
      const { status: before } = await pool("steady");
      await platform.cluster.kubectl([
        ...["delete", "secret", "steady-provisioner-key", `--namespace=${platform.namespace}`],
      ]);
      await eventually(async () => {
        const { status } = await pool("steady");
        expect(status?.provisionerKeyID).not.toBe(before?.provisionerKeyID);
      }, TIME_LIMIT);
    },
    "a change of the database's password": changePassword,
    "a change of the license": async () => {
      const { status: before } = await seen<ControlPlaneSeen>(CONTROL_PLANE);
      const [license] = await mint(platform.binaries, "enterprise");
      platform.secrets.add(license);
      await platform.cluster.apply(secret(platform.namespace, "license", { license }));
      await eventually(async () => {
        const { status } = await seen<ControlPlaneSeen>(CONTROL_PLANE);
        expect(status?.licenseLastAppliedHash).not.toBe(before?.licenseLastAppliedHash);
      }, TIME_LIMIT);
    },
    "its pool at zero and back": async () => {
      await platform.change("coderprovisioner/steady", { replicas: 0 });
      await untilNoneStays("steady");
      await platform.change("coderprovisioner/steady", { replicas: 1 });
      await eventually(async () => expect(await staying("steady")).toHaveLength(1), TIME_LIMIT);
    },
    "coderd at zero and back": async () => {
      await platform.change(CONTROL_PLANE, { replicas: 0 });
      await untilNoneStays("coder");
      await platform.change(CONTROL_PLANE, { replicas: 1 });
      await eventually(async () => {
        expect((await seen<ControlPlaneSeen>(CONTROL_PLANE)).status?.readyReplicas).toBe(1);
      }, TIME_LIMIT);
    },
  };

  /** In the steps of docs/how-to/database-password.md. */
  async function changePassword(): Promise<void> {
    const before = await staying("coder");
    const { url, name } = platform.database;
    const changed = new URL(url);
    changed.password = `${changed.password}2`;
    platform.secrets.add(changed.href);
    await using server = closing(openDatabase({ url: platform.cluster.place.postgresUrl, name: "postgres" }));
    await server.query(`ALTER ROLE ${name} PASSWORD '${changed.password}'`);
    await platform.cluster.apply(
      secret(platform.namespace, "coder-db", { url: `${changed.href}?sslmode=disable` }),
    );
    await eventually(async () => {
      const now = await staying("coder");
      expect(now).toHaveLength(before.length);
      expect(now).not.toEqual(before);
    }, TIME_LIMIT);
  }

  test.each(Object.entries(upheavals))("survive %s", async (title, upheaval) => {
    const workspace = `during-${Object.keys(upheavals).indexOf(title)}`;
    await builds.start(workspace, "steady");
    const builder = await builds.untilBuilding(workspace);
    await upheaval();
    const { worker_id } = await eventually(() => builds.job(workspace), TIME_LIMIT);
    const mayBeGivenUp = REPLACES_CODERD.test(title);
    await builds.end(workspace, builder);
    const after = await builds.untilOver(workspace);
    expect(mayBeGivenUp ? ["succeeded", GIVEN_UP] : ["succeeded"]).toContain(after.error || after.status);
    expect(after.worker_id).toBe(worker_id);
    expect(builder).toContain("steady");
  });

  test("wait for daemons of a pool at zero, which grows to its maximum and shrinks beside those that build", async () => {
    await builds.pushTemplate("short", { seconds: 1, pool: "queue" });
    await builds.pushTemplate("long", { seconds: LASTING, pool: "queue" });
    // One that ends could still take the first build: it would finish it, and not count as one that stays.
    await eventually(async () => {
      expect((await pool("queue")).status?.desiredReplicas).toBe(0);
      expect(await pods("queue")).toEqual([]);
    }, TIME_LIMIT);
    const short = ["short-1", "short-2", "short-3", "short-4"];
    await builds.start("long-1", "long");
    for (const workspace of short) await builds.start(workspace, "short");
    let most = 0;
    await eventually(async () => {
      most = Math.max(most, (await staying("queue")).length);
      expect(most).toBe(MAX_DAEMONS);
    }, TIME_LIMIT);
    await builds.untilSucceeded(short);
    const builder = await builds.untilBuilding("long-1");
    await eventually(async () => expect(await staying("queue")).toEqual([builder]), TIME_LIMIT);
    expect((await builds.job("long-1")).status).toBe("running");
    await builds.end("long-1", builder);
    await builds.untilSucceeded(["long-1"]);
    await untilNoneStays("queue");
  });
});

function closing<T extends { close(): Promise<void> }>(resource: T): T & AsyncDisposable {
  return Object.assign(resource, { [Symbol.asyncDispose]: () => resource.close() });
}
