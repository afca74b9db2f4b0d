import { eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { TIME_LIMIT } from "./support/cluster.ts";
import { Platform } from "./support/platform.ts";
import { Workspaces } from "./support/workspaces.ts";

const MINUTE = 60_000;
/** coderd looks for what is due every minute, and starts nothing within the first minutes of its own life. */
const AUTOMATIC_LIMIT = { withinMs: 5 * MINUTE };

describe.runIf(inject("place")?.coder)("a workspace in a namespace of its own", () => {
  let platform: Platform;
  let workspaces: Workspaces;
  beforeAll(async () => {
    platform = await Platform.open("workspace", {
      pools: {
        linux: {},
        few: { tags: { rights: "few" } },
        resting: {
          tags: { rests: "yes" },
          autoscaling: {
            minReplicas: 0,
            maxReplicas: 1,
            pollSeconds: 5,
            scaleDownDelaySeconds: 0,
            keepWarmMinutes: 0,
          },
        },
      },
    });
    workspaces = new Workspaces(platform);
    await change("few", { rbac: { enableDeployments: false } });
  });
  beforeEach(({ onTestFailed }) => onTestFailed(async () => console.error(await platform?.story())));
  afterAll(() => platform?.[Symbol.asyncDispose]());

  const change = (pool: string, spec: object) =>
    platform.cluster.kubectl([
      ...["patch", "coderprovisioner", pool, `--namespace=${platform.namespace}`, "--type=merge"],
      `--patch=${JSON.stringify({ spec })}`,
    ]);

  const replicas = async (pool: string) => {
    const args = [`coderprovisioner/${pool}`, `--namespace=${platform.namespace}`];
    return (await platform.cluster.get<{ status?: { desiredReplicas?: number } }>(args)).status
      ?.desiredReplicas;
  };

  test("opens: its pod runs, its agent connects, and coder ssh runs a command in it", async () => {
    await workspaces.pushTemplate("pod", "pod");
    await workspaces.create("dev", "pod");
    const [pod] = await workspaces.pods("dev");
    expect(pod?.status?.phase).toBe("Running");
    expect(await workspaces.ssh("dev", "hostname")).toBe(pod?.metadata?.name);
    await eventually(async () => {
      const agent = await workspaces.agent("dev");
      expect(agent).toMatchObject({ status: "connected", lifecycle_state: "ready" });
      expect(agent.apps.map(({ slug }) => slug)).toEqual(["files"]);
    }, TIME_LIMIT);
    expect(await workspaces.ssh("dev", "cat /tmp/started")).not.toBe("");
  });

  test("loses its pod and keeps its volume when it stops, and has its files when it starts again", async () => {
    await workspaces.ssh("dev", "echo kept > /home/coder/note");
    await platform.admin.cli("stop", "dev", "--yes");
    await workspaces.untilPods("dev", 0);
    expect(await workspaces.claims("dev")).toHaveLength(1);
    await platform.admin.cli("start", "dev", "--yes");
    expect(await workspaces.ssh("dev", "cat /home/coder/note")).toBe("kept");
  });

  test("is gone with its volume claim after it was deleted", async () => {
    await platform.admin.cli("delete", "dev", "--yes");
    await workspaces.untilPods("dev", 0);
    await eventually(async () => expect(await workspaces.claims("dev")).toEqual([]), TIME_LIMIT);
  });

  test("may be a Deployment", async () => {
    await workspaces.pushTemplate("deployment", "deployment");
    await workspaces.create("large", "deployment");
    const [pod] = await workspaces.untilPods("large", 1);
    expect(await workspaces.ssh("large", "hostname")).toBe(pod?.metadata?.name);
    await platform.admin.cli("delete", "large", "--yes");
    await workspaces.untilPods("large", 0);
  });

  test("may not be a Deployment with enableDeployments false, and why names the missing right", async () => {
    await workspaces.pushTemplate("few", "deployment", { tags: { rights: "few" } });
    await expect(workspaces.create("refused", "few")).rejects.toThrow();
    const { out, code } = await platform.kubectlCoder("why", "workspace/refused", "-o", "json");
    expect(code).toBe(3);
    expect(JSON.parse(out).answer).toBe(
      `provisioner/few: ServiceAccount "few-provisioner" may not create deployments.apps in namespace "${platform.workspaceNamespace}". Set spec.rbac.enableDeployments to true.`,
    );
  });

  test("keeps a daemon of a pool at zero before its automatic start, regardless of agents and apps", async () => {
    await workspaces.pushTemplate("resting", "pod", { tags: { rests: "yes" } });
    await workspaces.create("morning", "resting");
    expect((await workspaces.agent("morning")).apps).not.toEqual([]);
    await platform.admin.cli("stop", "morning", "--yes");
    const { id } = await platform.admin.workspace("morning");
    const due = new Date(Math.ceil(Date.now() / MINUTE) * MINUTE + MINUTE);
    const schedule = `CRON_TZ=UTC ${due.getUTCMinutes()} ${due.getUTCHours()} * * *`;
    await platform.admin.put(`/api/v2/workspaces/${id}/autostart`, { schedule });
    await eventually(async () => expect(await replicas("resting")).toBe(0), TIME_LIMIT);
    await change("resting", { autoscaling: { keepWarmMinutes: 60 } });
    await eventually(async () => expect(await replicas("resting")).toBe(1), TIME_LIMIT);
  });

  test.runIf(process.env.LONG)(
    "starts automatically on the daemon that is kept for it",
    async () => {
      await eventually(async () => {
        const { reason } = await workspaces.latestBuild("morning");
        expect(reason).toBe("autostart");
      }, AUTOMATIC_LIMIT);
      const [pod] = await workspaces.untilPods("morning", 1);
      expect(await workspaces.ssh("morning", "hostname")).toBe(pod?.metadata?.name);
    },
    10 * MINUTE,
  );
});
