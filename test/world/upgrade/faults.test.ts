import { ControllerRevision, CronJob, Deployment, Job } from "kube-controller-runtime";
import { describe, expect, test } from "vitest";
import { BAD_AFTER, BROKEN, LATER, NEW, OLD, openUpgradeStage, type UpgradeStage } from "./stage.ts";

/** The old version serves again, on its own schema, and both versions never met. */
async function expectOldVersion(stage: UpgradeStage): Promise<void> {
  await stage.eventually(() => expect(stage.rollouts.alive()).toEqual([OLD, OLD]));
  expect(stage.schema.version).toBe(362);
  expect(stage.rollouts.violations).toEqual([]);
}

describe("the complete previous pod template comes back by itself when the new pod", () => {
  test.each([
    ["finds its image no longer in the registry", NEW, "cannot be pulled"],
    ["crashes before its migration is committed", BROKEN, "crashes with exit code 1"],
  ])("%s", async (_case, image, why) => {
    await using stage = await openUpgradeStage();
    await stage.settle({ podAnnotations: { note: "old" } });
    await stage.change("coder", { image, podAnnotations: { note: "new" } });
    await stage.untilStage("ScalingDown");
    if (image === NEW) delete stage.programs[NEW];
    await stage.untilStage("RolledBack");
    await expectOldVersion(stage);
    const { spec } = await stage.get(Deployment, "coder");
    expect(spec?.template.metadata?.annotations).toEqual({ note: "old" });
    const condition = await stage.untilCondition("coder", "Upgrading", {
      reason: "RolledBack",
      status: "False",
    });
    expect(condition.message).toContain(why);
    await stage.untilCondition("coder", "Ready", { status: "False", reason: "RolledBack" });
    await stage.untilCondition("coder", "Available", { status: "True" });
  });
});

test("an image that failed is not tried again until the image changes", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle();
  await stage.change("coder", { image: BROKEN });
  await stage.untilStage("RolledBack");
  await expectOldVersion(stage);
  await stage.change("coder", { podAnnotations: { note: "other" } });
  await stage.restart();
  await stage.touch("coder", "look");
  expect(await stage.status("coder")).toMatchObject({ upgrade: { stage: "RolledBack" }, image: OLD });
  await stage.change("coder", { image: NEW });
  await stage.untilStage("Completed");
  expect(stage.rollouts.served).toEqual([OLD, OLD, NEW].slice(1));
});

test("the old image in the spec ends an upgrade that was rolled back", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle();
  await stage.change("coder", { image: BROKEN });
  await stage.untilStage("RolledBack");
  await stage.change("coder", { image: OLD });
  await stage.untilCondition("coder", "Ready", { status: "True" });
  expect((await stage.status("coder")).upgrade).toBeUndefined();
  await expectOldVersion(stage);
});

describe("a pod that crashes after its migration was committed", () => {
  async function crashed(): Promise<UpgradeStage> {
    const stage = await openUpgradeStage();
    await stage.settle();
    await stage.change("coder", { image: BAD_AFTER });
    await stage.untilStage("Stuck");
    expect(stage.schema.version).toBe(413);
    return stage;
  }

  test("stays and says what to do, and the old version does not touch the new schema", async () => {
    await using stage = await crashed();
    const condition = await stage.untilCondition("coder", "Upgrading", { status: "False", reason: "Stuck" });
    expect(condition.message).toContain("restore the backup");
    await stage.untilCondition("coder", "Stalled", { status: "True" });
    await stage.change("coder", { image: OLD });
    await stage.touch("coder", "look");
    expect(stage.rollouts.alive()).toEqual([BAD_AFTER]);
    expect(stage.rollouts.violations).toEqual([]);
  });

  test("is replaced by a later version", async () => {
    await using stage = await crashed();
    await stage.change("coder", { image: NEW });
    await stage.untilStage("Completed");
    expect(stage.schema.version).toBe(556);
    expect(stage.rollouts.violations).toEqual([]);
  });

  test.each([
    ["a later version", NEW, LATER],
    ["an earlier version than the one that was never started", LATER, NEW],
  ])("is replaced by what the spec says when its pod has ended: %s", async (_case, first, second) => {
    await using stage = await crashed();
    await stage.change("coder", { image: first });
    await stage.untilStage("ScalingDown");
    await stage.change("coder", { image: second });
    await stage.untilStage("Completed");
    expect(stage.rollouts.alive()).toEqual([second, second]);
    expect(stage.rollouts.started).not.toContain(first);
    expect(stage.rollouts.violations).toEqual([]);
  });

  test("is replaced by a version whose migration the old version in the spec does not interrupt", async () => {
    await using stage = await crashed();
    stage.schema.isBlocked = true;
    await stage.change("coder", { image: NEW });
    await stage.eventually(() => expect(stage.schema.inspection.migration).toBeDefined());
    await stage.change("coder", { image: OLD });
    await stage.timePasses(5 * 60_000);
    expect(stage.rollouts.started.filter((image) => image === NEW)).toHaveLength(1);
    stage.schema.isBlocked = false;
    await stage.untilCondition("coder", "Upgrading", { status: "False", reason: "DowngradeRefused" });
    await stage.eventually(() => expect(stage.rollouts.alive()).toEqual([NEW, NEW]));
  });

  test("comes back where the spec names the old version while it ends", async () => {
    await using stage = await crashed();
    await stage.change("coder", { image: NEW });
    await stage.untilStage("ScalingDown");
    await stage.change("coder", { image: OLD });
    await stage.untilStage("Stuck");
    expect(stage.rollouts.started).not.toContain(NEW);
    expect(stage.rollouts.violations).toEqual([]);
    await stage.untilCondition("coder", "Upgrading", {
      reason: "Stuck",
      message: expect.stringContaining(`spec.image "${OLD}" is refused`),
    });
  });

  test("gives way to the old version once the backup was restored", async () => {
    await using stage = await crashed();
    stage.schema.version = 362;
    await stage.change("coder", { image: OLD });
    await stage.untilCondition("coder", "Ready", { status: "True" });
    await expectOldVersion(stage);
  });

  test("goes on when it starts after all", async () => {
    await using stage = await crashed();
    stage.programs[BAD_AFTER] = { schema: 413, version: "v2.30.1" };
    await stage.untilStage("Completed");
    expect(stage.rollouts.alive()).toEqual([BAD_AFTER, BAD_AFTER]);
  });
});

test("a migration that waits for a lock of another session names that session, and continues when it ends", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle();
  stage.schema.isBlocked = true;
  await stage.change("coder", { image: NEW });
  await stage.eventually(
    async () => {
      expect(await stage.condition("Upgrading")).toMatchObject({
        status: "True",
        reason: "Migrating",
        message: expect.stringContaining('process 99 of user "admin" (application "psql")'),
      });
    },
    { withinMs: 20 * 60_000 },
  );
  await stage.timePasses(60 * 60_000);
  stage.schema.isBlocked = false;
  await stage.untilStage("Completed");
  expect(stage.rollouts.violations).toEqual([]);
});

test("a migration goes on in a pod that crashed before, also when a certificate is renewed", async () => {
  await using stage = await openUpgradeStage();
  await stage.putSecret("ca", { "ca.crt": "the first certificate" });
  await stage.settle({ certs: { secrets: [{ name: "ca", key: "ca.crt" }] } });
  stage.schema.isBlocked = true;
  await stage.change("coder", { image: NEW });
  await stage.untilStage("Migrating");
  stage.tokens.isDown = true;
  const crashed = async () =>
    expect(await stage.condition("Upgrading")).toMatchObject({
      message: expect.stringContaining("crashes with exit code 1"),
    });
  await stage.eventually(crashed);
  stage.tokens.isDown = false;
  await stage.eventually(() => expect(stage.schema.inspection.migration).toBeDefined(), { withinMs: 60_000 });
  await stage.putSecret("ca", { "ca.crt": "the renewed certificate" });
  await stage.change("coder", { podAnnotations: { note: "new" } });
  const isLater = (at: number) => () => expect(stage.clock.now()).toBeGreaterThan(at);
  await stage.eventually(isLater(stage.clock.now() + 20 * 60_000), { withinMs: 30 * 60_000 });
  expect(await stage.status("coder")).toMatchObject({ upgrade: { stage: "Migrating" } });
  expect(stage.rollouts.started.filter((image) => image === NEW)).toHaveLength(1);
  stage.schema.isBlocked = false;
  await stage.untilStage("Completed");
  const { spec } = await stage.get(Deployment, "coder");
  expect(spec?.template.metadata?.annotations).toMatchObject({ note: "new" });
});

test.each([
  ["the database may not be asked", { operatorAccess: { disabled: true } }],
  ["the database is not migrated", {}],
])(
  "a new pod that hangs is replaced by one of a corrected spec and of a corrected image: %s",
  async (_case, access) => {
    await using stage = await openUpgradeStage();
    await stage.settle(access);
    stage.programs[NEW] = { schema: 556, version: "v2.36.1", hangs: true };
    await stage.change("coder", { image: NEW });
    await stage.untilStage("Migrating");
    await stage.change("coder", { podAnnotations: { note: "new" } });
    const corrected = async () => {
      const { spec } = await stage.get(Deployment, "coder");
      expect(spec?.template.metadata?.annotations).toMatchObject({ note: "new" });
    };
    await stage.eventually(corrected, { withinMs: 20 * 60_000 });
    await stage.change("coder", { image: LATER });
    await stage.eventually(() => expect(stage.rollouts.alive()).toEqual([LATER, LATER]), {
      withinMs: 60 * 60_000,
    });
    await stage.untilStage("Completed");
    expect(stage.rollouts.violations).toEqual([]);
  },
);

test("a migration goes on in the same pod whatever changes in the spec, which is rolled out once it serves", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle();
  stage.schema.isBlocked = true;
  await stage.change("coder", { image: NEW });
  await stage.eventually(() => expect(stage.schema.inspection.migration).toBeDefined());
  await stage.change("coder", { podAnnotations: { note: "new" }, resources: { limits: { cpu: "2" } } });
  await stage.restart();
  await stage.touch("coder", "look");
  const isLater = (at: number) => () => expect(stage.clock.now()).toBeGreaterThan(at);
  await stage.eventually(isLater(stage.clock.now() + 60_000), { withinMs: 120_000 });
  expect(stage.rollouts.started.filter((image) => image === NEW)).toHaveLength(1);
  stage.schema.isBlocked = false;
  await stage.untilStage("Completed");
  const { spec } = await stage.get(Deployment, "coder");
  expect(spec?.template.metadata?.annotations).toMatchObject({ note: "new" });
  await stage.untilCondition("coder", "Ready", { status: "True" });
});

test("a new pod that fails before it migrates is replaced by one of a corrected spec", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle();
  await stage.change("coder", { image: BROKEN });
  await stage.untilStage("Migrating");
  await stage.eventually(async () =>
    expect((await stage.status("coder")).upgrade?.failingSince).toBeDefined(),
  );
  await stage.change("coder", { podAnnotations: { note: "new" } });
  await stage.eventually(async () => {
    const { spec } = await stage.get(Deployment, "coder");
    expect(spec?.template.metadata?.annotations).toMatchObject({ note: "new" });
  });
});

test("a database that becomes unreachable is waited for", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle();
  await stage.change("coder", { image: NEW });
  await stage.untilStage("Migrating");
  stage.tokens.isDown = true;
  await stage.eventually(
    async () => {
      const condition = await stage.condition("Upgrading");
      expect(condition?.message).toContain("The progress is unknown.");
    },
    { withinMs: 20 * 60_000 },
  );
  await stage.timePasses(10 * 60_000);
  expect((await stage.status("coder")).upgrade?.stage).toBe("Migrating");
  stage.tokens.isDown = false;
  await stage.untilStage("Completed");
  expect(stage.rollouts.alive()).toEqual([NEW, NEW]);
  expect(stage.rollouts.violations).toEqual([]);
});

describe("the spec changes in the middle:", () => {
  test.each(["Draining", "ScalingDown", "Migrating"] as const)("back, in stage %s", async (when) => {
    await using stage = await openUpgradeStage();
    await stage.settle();
    if (when === "Draining") stage.startBuild();
    await stage.change("coder", { image: NEW });
    await stage.untilStage(when);
    await stage.change("coder", { image: OLD });
    await stage.eventually(
      async () => {
        expect((await stage.status("coder")).upgrade).toBeUndefined();
      },
      { withinMs: 20 * 60_000 },
    );
    await expectOldVersion(stage);
  });

  test.each(["ScalingDown", "Migrating", "ScalingOut"] as const)(
    "to a third version, in stage %s",
    async (when) => {
      await using stage = await openUpgradeStage();
      await stage.settle();
      await stage.change("coder", { image: NEW });
      await stage.untilStage(when);
      await stage.change("coder", { image: LATER });
      await stage.eventually(() => expect(stage.rollouts.alive()).toEqual([LATER, LATER]), {
        withinMs: 30 * 60_000,
      });
      await stage.untilStage("Completed");
      expect(stage.schema.version).toBe(557);
      expect(stage.rollouts.violations).toEqual([]);
    },
  );
});

describe("the old image in the spec is refused", () => {
  test.each<[string, (stage: UpgradeStage) => Promise<unknown>]>([
    [
      "as soon as the migration is committed",
      (stage) => stage.eventually(() => expect(stage.schema.version).toBe(556)),
    ],
    ["while the other pods start", (stage) => stage.untilStage("ScalingOut")],
    ["after the upgrade", (stage) => stage.untilStage("Completed")],
  ])("%s", async (_when, until) => {
    await using stage = await openUpgradeStage();
    await stage.settle();
    await stage.change("coder", { image: NEW });
    await until(stage);
    await stage.change("coder", { image: OLD });
    await stage.untilCondition("coder", "Upgrading", { status: "False", reason: "DowngradeRefused" });
    await stage.eventually(() => expect(stage.rollouts.alive()).toEqual([NEW, NEW]));
    expect(await stage.status("coder")).toMatchObject({ image: NEW, version: "v2.36.1" });
    expect(stage.rollouts.violations).toEqual([]);
  });
});

test("an image that changes while there are no pods is an upgrade once there are some", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle();
  await stage.change("coder", { replicas: 0 });
  await stage.eventually(() => expect(stage.rollouts.alive()).toEqual([]));
  await stage.change("coder", { image: NEW });
  await stage.touch("coder", "look");
  expect(await stage.image()).toBe(OLD);
  await stage.change("coder", { replicas: 2 });
  await stage.untilStage("Migrating");
  await stage.untilStage("Completed");
  expect(stage.rollouts.alive()).toEqual([NEW, NEW]);
  expect(stage.rollouts.violations).toEqual([]);
});

test("without access to the database an upgrade that is taken back before a new pod starts is taken back", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle({ operatorAccess: { disabled: true } });
  await stage.change("coder", { image: NEW });
  await stage.untilStage("ScalingDown");
  await stage.change("coder", { image: OLD });
  await expectOldVersion(stage);
  await stage.eventually(async () => expect((await stage.status("coder")).upgrade).toBeUndefined());
});

test("an older version is refused, and what runs goes on", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle();
  await stage.change("coder", { image: "ghcr.io/coder/coder:v2.23.0" });
  await stage.untilCondition("coder", "Upgrading", { status: "False", reason: "DowngradeRefused" });
  await expectOldVersion(stage);
  await stage.change("coder", { image: OLD });
  await stage.untilCondition("coder", "Ready", { status: "True" });
});

describe("a foreign coderd on the same database", () => {
  const shared = (stage: UpgradeStage) =>
    stage.untilCondition("coder", "Upgrading", {
      status: "False",
      reason: "DatabaseShared",
      message: expect.stringContaining("clone-1"),
    });

  test("keeps an upgrade from beginning, and the old version serves on", async () => {
    await using stage = await openUpgradeStage();
    await stage.settle();
    stage.schema.strangers.add("clone-1");
    await stage.change("coder", { image: NEW });
    await shared(stage);
    await expectOldVersion(stage);
    stage.schema.strangers.clear();
    await stage.untilStage("Completed");
  });

  test("is seen although pods of ours that do not serve make the numbers equal", async () => {
    await using stage = await openUpgradeStage();
    await stage.settle();
    stage.rollouts.hasRoom = false;
    await stage.change("coder", { replicas: 3 });
    await stage.eventually(() => expect(stage.rollouts.alive()).toHaveLength(3));
    stage.schema.strangers.add("clone-1");
    await stage.change("coder", { image: NEW });
    await shared(stage);
  });

  test("that starts while the old pods end keeps the new one from starting", async () => {
    await using stage = await openUpgradeStage();
    await stage.settle();
    await stage.change("coder", { image: NEW });
    await stage.untilStage("ScalingDown");
    stage.schema.strangers.add("clone-1");
    await stage.untilCondition("coder", "Upgrading", {
      status: "True",
      reason: "ScalingDown",
      message: expect.stringMatching(
        /do not belong to this control plane: clone-1; stop them.*set spec\.image to/,
      ),
    });
    expect(stage.rollouts.started).not.toContain(NEW);
    stage.schema.strangers.clear();
    await stage.untilStage("Completed");
  });

  test("is not a pod of ours that was killed", async () => {
    await using stage = await openUpgradeStage();
    await stage.settle();
    stage.rollouts.isKilled = true;
    await stage.change("coder", { image: NEW });
    await stage.untilStage("Completed");
    expect(stage.schema.hosts.size).toBe(4);
  });
});

test("without access to the database one pod migrates, and nothing goes back by itself", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle({ operatorAccess: { disabled: true } });
  await stage.change("coder", { image: BROKEN });
  await stage.untilStage("Stuck");
  const condition = await stage.untilCondition("coder", "Upgrading", { reason: "Stuck" });
  expect(condition.message).toContain("does not access the database");
  await stage.change("coder", { image: NEW });
  await stage.untilStage("Completed");
  expect(stage.rollouts.violations).toEqual([]);
  expect(stage.tokens.asked).toBe(0);
});

test("where coderd logs in to its database by IAM, an upgrade goes on without a look at it", async () => {
  await using stage = await openUpgradeStage();
  const url = { name: "CODER_PG_CONNECTION_URL", value: "postgres://coder@db/coder" };
  await stage.settle({ extraEnv: [url, { name: "CODER_PG_AUTH", value: "awsiamrds" }] });
  await stage.change("coder", { image: NEW });
  await stage.untilStage("Completed");
  expect(stage.rollouts.violations).toEqual([]);
  expect(stage.tokens.asked).toBe(0);
});

describe("a backup by a CronJob", () => {
  const backup = { upgrade: { backup: { cronJobName: "dump" } } };

  async function withCronJob(stage: UpgradeStage): Promise<void> {
    const containers = [{ name: "dump", image: "postgres" }];
    const spec = { template: { spec: { containers, restartPolicy: "Never" } } };
    const jobTemplate = { metadata: { labels: { queue: "batch" } }, spec };
    await stage.person.create(CronJob, {
      ...CronJob,
      metadata: stage.ref("dump"),
      spec: { schedule: "@daily", jobTemplate },
    } as CronJob);
  }

  const finish = async (stage: UpgradeStage, type: "Complete" | "Failed") => {
    const name = await stage.eventually(async () => {
      const { upgrade } = await stage.status("coder");
      return (await stage.get(Job, upgrade?.backup ?? "none")).metadata.name;
    });
    expect(stage.rollouts.alive()).toEqual([OLD, OLD]);
    const status = { conditions: [{ type, status: "True", reason: "BackoffLimitExceeded" }] };
    await stage.person.patchStatus(Job, stage.ref(name), { status });
  };

  test("is made once and waited for before anything changes", async () => {
    await using stage = await openUpgradeStage();
    await withCronJob(stage);
    await stage.settle(backup);
    await stage.change("coder", { image: NEW });
    await finish(stage, "Complete");
    await stage.untilStage("Completed");
    const { items } = await stage.person.list(Job, { namespace: stage.namespace });
    expect(items).toHaveLength(1);
    const { labels, ownerReferences } = items[0]?.metadata ?? {};
    expect(labels).toMatchObject({ queue: "batch", "app.kubernetes.io/instance": "coder" });
    expect(ownerReferences).toMatchObject([{ kind: "CoderControlPlane", name: "coder", controller: true }]);
  });

  test("stops the upgrade when it fails, until the spec changes", async () => {
    await using stage = await openUpgradeStage();
    await withCronJob(stage);
    await stage.settle(backup);
    await stage.change("coder", { image: NEW });
    await finish(stage, "Failed");
    await stage.untilCondition("coder", "Upgrading", { status: "False", reason: "BackupFailed" });
    await expectOldVersion(stage);
    await stage.change("coder", { upgrade: { backup: null } });
    await stage.untilStage("Completed");
  });

  test("that takes too long is ended by Kubernetes, and the next attempt waits until it has ended", async () => {
    await using stage = await openUpgradeStage();
    await withCronJob(stage);
    await stage.settle({ upgrade: { backup: { ...backup.upgrade.backup, timeoutSeconds: 60 } } });
    await stage.change("coder", { image: NEW });
    await stage.untilStage("BackingUp");
    const jobs = async () => (await stage.person.list(Job, { namespace: stage.namespace })).items;
    await stage.eventually(async () => expect(await jobs()).toHaveLength(1));
    const [late] = await jobs();
    expect(late?.spec?.activeDeadlineSeconds).toBe(60);
    await stage.timePasses(61_000);
    await stage.untilStage("BackupFailed");
    await stage.change("coder", { podAnnotations: { attempt: "2" } });
    await stage.untilCondition("coder", "Upgrading", {
      reason: "BackingUp",
      message: expect.stringContaining(`Waiting for Job "${late?.metadata.name}" from an earlier attempt.`),
    });
    expect(await jobs()).toHaveLength(1);
    const failed = { type: "Failed", status: "True", reason: "DeadlineExceeded" };
    await stage.person.patchStatus(Job, stage.ref(late?.metadata.name ?? ""), {
      status: { conditions: [failed] },
    });
    await stage.eventually(async () => expect(await jobs()).toHaveLength(2));
  });

  test("of an upgrade that was taken back is waited for by the next one", async () => {
    await using stage = await openUpgradeStage();
    await withCronJob(stage);
    await stage.settle(backup);
    const jobs = async () => (await stage.person.list(Job, { namespace: stage.namespace })).items;
    await stage.change("coder", { image: NEW });
    await stage.untilStage("BackingUp");
    await stage.eventually(async () => expect(await jobs()).toHaveLength(1));
    await stage.change("coder", { image: OLD });
    await stage.eventually(async () => expect((await stage.status("coder")).upgrade).toBeUndefined());
    await stage.change("coder", { image: LATER });
    const [first] = await jobs();
    await stage.untilCondition("coder", "Upgrading", {
      reason: "BackingUp",
      message: expect.stringContaining(`Waiting for Job "${first?.metadata.name}" from an earlier attempt.`),
    });
    expect(await jobs()).toHaveLength(1);
    const complete = { conditions: [{ type: "Complete", status: "True" }] };
    await stage.person.patchStatus(Job, stage.ref(first?.metadata.name ?? ""), { status: complete });
    await stage.eventually(async () => expect(await jobs()).toHaveLength(2));
  });

  test("is refused before the upgrade begins when there is no such CronJob", async () => {
    await using stage = await openUpgradeStage();
    await stage.settle(backup);
    await stage.change("coder", { image: NEW });
    await stage.untilCondition("coder", "Upgrading", { status: "False", reason: "BackupUnavailable" });
    await expectOldVersion(stage);
  });
});

test("with strategy Rolling nothing is stopped first", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle({ upgrade: { strategy: "Rolling" } });
  await stage.change("coder", { image: NEW });
  await stage.eventually(() => expect(stage.rollouts.alive()).toEqual([NEW, NEW]), { withinMs: 20 * 60_000 });
  await stage.untilStatus("coder", { image: NEW });
  expect((await stage.status("coder")).upgrade).toBeUndefined();
  expect(stage.rollouts.violations).not.toEqual([]);
});

describe("when the kept pod template is deleted", () => {
  async function forget(stage: UpgradeStage): Promise<void> {
    const { items } = await stage.person.list(ControllerRevision, { namespace: stage.namespace });
    for (const { metadata } of items) await stage.delete(ControllerRevision, metadata.name);
  }

  test("an upgrade goes on", async () => {
    await using stage = await openUpgradeStage();
    await stage.settle();
    await stage.change("coder", { image: NEW });
    await stage.untilStage("ScalingDown");
    await forget(stage);
    await stage.untilStage("Completed");
    expect(stage.rollouts.violations).toEqual([]);
  });

  test("the old version comes back with the template of the spec, and the condition says so", async () => {
    await using stage = await openUpgradeStage();
    await stage.settle();
    await stage.change("coder", { image: BROKEN, podAnnotations: { note: "new" } });
    await stage.untilStage("Migrating");
    await forget(stage);
    await stage.untilStage("RolledBack");
    await expectOldVersion(stage);
    const condition = await stage.untilCondition("coder", "Upgrading", { reason: "RolledBack" });
    expect(condition.message).toMatch(/ no longer exists.*crashes with exit code 1.*--previous$/);
  });
});

test("a Deployment that is deleted while an upgrade is refused comes back as it was", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle();
  await stage.change("coder", { image: "ghcr.io/coder/coder:v2.23.0" });
  await stage.untilCondition("coder", "Upgrading", { reason: "DowngradeRefused" });
  await stage.delete(Deployment, "coder");
  await stage.eventually(async () => expect(await stage.image()).toBe(OLD));
  await stage.untilCondition("coder", "Upgrading", { reason: "DowngradeRefused" });
});
