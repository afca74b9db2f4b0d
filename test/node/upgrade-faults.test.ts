import { runningNode } from "kube-controller-runtime/testing/node";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import type { ControlPlaneSpec } from "../../src/api/v1alpha1/control-plane.ts";
import type { UpgradeStage } from "../../src/api/v1alpha1/upgrade.ts";
import { AT_ONCE, deleteOperatorPod, untilLeader } from "./support/leader.ts";
import { rolledOut } from "./support/operator.ts";
import { CODER } from "./support/platform.ts";
import { LASTING, SlowBuilds } from "./support/slow-builds.ts";
import { CONTROL_PLANE, IMAGE, SCHEMA, Upgrades } from "./support/upgrades.ts";

const place = inject("place");
const MINUTE = 60_000;

async function opened(prefix: string, controlPlane?: ControlPlaneSpec): Promise<Upgrades> {
  const upgrades = await Upgrades.open(prefix, controlPlane);
  onTestFinished(async ({ task }) => {
    if (task.result?.state === "fail") console.error(await upgrades.platform.story());
    await upgrades[Symbol.asyncDispose]();
  });
  return upgrades;
}

/** The last number of seconds in a message, where minutes may come first. */
function secondsIn(message = ""): number {
  const [, minutes = "0", seconds = "NaN"] = /(?:(\d+) min )?(\d+) s\b(?!.*\d s\b)/.exec(message) ?? [];
  return Number(minutes) * 60 + Number(seconds);
}

describe.runIf(place?.coder && place.local && process.env.LONG)(
  "an upgrade whose first attempt fails (needs a second name of the image)",
  () => {
    test("counts that attempt in what it says of the time without service", {
      timeout: 8 * MINUTE,
    }, async () => {
      // The old version would serve between the attempts if its pods were ready at once.
      const upgrades = await opened("again", { readinessProbe: { initialDelaySeconds: 60 } });
      const { platform } = upgrades;
      const wrong = IMAGE.current.replace(/[^:]*$/, "v2.36.0");
      await (await runningNode())?.run([
        "ctr",
        "--namespace=k8s.io",
        "images",
        "tag",
        "--force",
        IMAGE.current,
        wrong,
      ]);
      // A migration makes a table of this name: it fails, and all before it are rolled back with it.
      await platform.database.query("CREATE TABLE tasks (id int)");
      const { served } = await upgrades.observe(async () => {
        await platform.change(CONTROL_PLANE, { image: wrong });
        await upgrades.untilCondition("Upgrading", { message: expect.stringContaining("exit code") });
        await platform.database.query("DROP TABLE tasks");
        await platform.change(CONTROL_PLANE, {
          image: IMAGE.current,
          readinessProbe: { initialDelaySeconds: 0 },
        });
        await upgrades.untilStage("Completed");
      });
      await upgrades.expectUpgraded();
      const [message] = await upgrades.eventsOf("UpgradeCompleted");
      expect(Math.abs(secondsIn(message) - served.downMs / 1_000)).toBeLessThan(4);
    });
  },
);

/** Keeps an upgrade in a stage until the leader is killed. */
interface Hold {
  readonly stage: UpgradeStage;
  /** Before the upgrade begins. */
  readonly hold?: (upgrades: Upgrades) => Promise<void>;
  /** After it has begun. */
  readonly holdLater?: (upgrades: Upgrades) => Promise<void>;
  readonly release?: (upgrades: Upgrades) => Promise<void>;
}

const BACKUP = "coder-backup";
const NOWHERE = "nowhere";

/** The others last long enough. */
const STAGES: readonly Hold[] = [
  { stage: "Preflight" },
  {
    stage: "Draining",
    hold: async ({ platform }) => {
      const builds = new SlowBuilds(platform);
      await builds.pushTemplate("slow", { seconds: LASTING, pool: "linux" });
      await builds.start("during", "slow");
      await builds.untilBuilding("during");
    },
    release: async ({ platform }) => {
      const builds = new SlowBuilds(platform);
      await builds.end("during", await builds.untilBuilding("during"));
      await builds.untilSucceeded(["during"]);
    },
  },
  {
    stage: "BackingUp",
    hold: async ({ platform }) => {
      await platform.cluster.apply(backup(platform.namespace));
      await platform.change(CONTROL_PLANE, { upgrade: { backup: { cronJobName: BACKUP } } });
    },
  },
  { stage: "ScalingDown" },
  { stage: "Migrating" },
  {
    stage: "Verifying",
    // Earlier it would keep the upgrade in Draining, which asks coderd for its builds.
    holdLater: async (upgrades) => {
      await upgrades.untilStage("Migrating");
      const { cluster, namespace } = upgrades.platform;
      await cluster.apply(addressesWithoutServer(namespace));
    },
    release: async ({ platform: { cluster, namespace } }) => {
      await cluster.kubectl(["delete", "endpointslice", NOWHERE, `--namespace=${namespace}`]);
    },
  },
  { stage: "ScalingOut" },
  { stage: "Followers" },
];

describe.runIf(place?.coder && process.env.LONG)("an upgrade with two replicas in real pods", () => {
  test.for(STAGES)(
    "succeeds when the operator's leader is killed in $stage",
    { timeout: 8 * MINUTE },
    async ({ stage, hold, holdLater, release }) => {
      const upgrades = await opened(`killed-${stage.toLowerCase()}`);
      const { cluster } = upgrades.platform;
      await hold?.(upgrades);
      const leader = await untilLeader(cluster);
      const { served, schemas, migrationMs, oldOnNewSchema } = await upgrades.observe(async () => {
        await upgrades.platform.change(CONTROL_PLANE, { image: IMAGE.current });
        await holdLater?.(upgrades);
        await upgrades.untilStage(stage);
        await deleteOperatorPod(cluster, leader, AT_ONCE);
        expect((await upgrades.seen()).status?.upgrade).toMatchObject({ stage });
        await untilLeader(cluster, leader);
        await release?.(upgrades);
        await upgrades.untilStage("Completed");
        await upgrades.untilCondition("Ready", { status: "True" });
      });
      console.info(`killed in ${stage}: ${served.downMs} ms without service, ${migrationMs} ms of migration`);
      await upgrades.expectUpgraded();
      expect(schemas).toEqual([SCHEMA.older, SCHEMA.current]);
      expect(oldOnNewSchema).toEqual([]);
      await rolledOut(cluster.place);
    },
  );
});

/** It takes its time and needs nothing. */
function backup(namespace: string): object {
  const container = { name: "backup", image: IMAGE.older, command: ["sleep", "20"] };
  const spec = { restartPolicy: "Never", containers: [container] };
  return {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: { namespace, name: BACKUP },
    spec: {
      schedule: "0 0 1 1 *",
      suspend: true,
      jobTemplate: { spec: { template: { spec } } },
    },
  };
}

/** Beside those of coderd's pods, so that one question of hundreds reaches one of them. */
function addressesWithoutServer(namespace: string): object {
  // Reserved for documentation: nothing has them.
  const networks = ["192.0.2", "198.51.100", "203.0.113"];
  const endpoints = networks.flatMap((network) =>
    Array.from({ length: 250 }, (_, index) => ({ addresses: [`${network}.${index + 1}`] })),
  );
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { namespace, name: NOWHERE, labels: { "kubernetes.io/service-name": CODER } },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080 }],
    endpoints,
  };
}
