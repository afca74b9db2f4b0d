import { ApiError, type KubeObject } from "kube-controller-runtime";
import { stored } from "kube-controller-runtime/testing";
import { describe, expect, test } from "vitest";
import type { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import { withDefaults } from "../coderd/settings.ts";
import { commonLabels } from "../names.ts";
import { observeBackup } from "./backup.ts";

const object = stored<CoderControlPlane>({
  spec: { image: "coder:v2.26.0", upgrade: { backup: { cloudNativePG: { clusterName: "db" } } } },
});
const byCluster = withDefaults(object);
const byCronJob = withDefaults({ ...object, spec: { upgrade: { backup: { cronJobName: "dump" } } } });
const labels = commonLabels(byCluster);

/** State of the backup `before` in a namespace with these objects, by kind. */
function look(
  controlPlane: typeof byCluster,
  present: Readonly<Record<string, object>>,
  earlier: readonly object[] = [],
) {
  const get = async ({ kind }: KubeObject) => {
    const found = present[kind ?? ""];
    if (!found) throw new ApiError("not there", { reason: "NotFound", code: 404 });
    return found;
  };
  const list = async () => ({ items: earlier });
  return observeBackup(controlPlane, "before", { client: { get, list } } as never);
}

test("a Backup is made by the method and the plugin that the spec names", async () => {
  const pluginConfiguration = { name: "barman-cloud.cloudnative-pg.io", parameters: { serverName: "db" } };
  const cloudNativePG = { clusterName: "db", method: "plugin" as const, pluginConfiguration };
  const controlPlane = withDefaults({ ...object, spec: { upgrade: { backup: { cloudNativePG } } } });
  expect(await look(controlPlane, { Cluster: {} })).toMatchObject({
    wanted: { object: { spec: { cluster: { name: "db" }, method: "plugin", pluginConfiguration } } },
  });
});

const controlledBy = (uid: string) => ({
  metadata: { name: "before", ownerReferences: [{ controller: true, uid, kind: "Any", name: "any" }] },
  status: { conditions: [{ type: "Complete", status: "True" }] },
});
const backup = (cluster: string, more = {}) => ({
  metadata: { name: "before", labels, ...more },
  spec: { cluster: { name: cluster } },
  status: { phase: "completed" },
});

describe("a backup of CloudNativePG", () => {
  test("can't be made where the cluster that the spec names does not exist", async () => {
    expect(await look(byCluster, {})).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining('Cluster "db"'),
    });
  });

  test("can be made where the cluster exists", async () => {
    expect(await look(byCluster, { Cluster: {} })).toMatchObject({ kind: "absent" });
  });

  test("of an earlier attempt is waited for, since nothing ends it", async () => {
    const late = { ...backup("db"), metadata: { name: "late", labels }, status: { phase: "running" } };
    expect(await look(byCluster, { Cluster: {} }, [backup("db"), late])).toEqual({
      kind: "running",
      what: 'Backup "late" from an earlier attempt',
    });
  });

  test("that is complete counts", async () => {
    expect(await look(byCluster, { Backup: backup("db") })).toEqual({ kind: "succeeded" });
  });

  test.each([
    ["of another cluster", backup("other")],
    ["that another user created", backup("db", { labels: {} })],
  ])("%s does not count", async (_case, present) => {
    expect(await look(byCluster, { Backup: present, Cluster: {} })).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining('Backup "before"'),
    });
  });
});

describe("a backup by a Job", () => {
  test("counts when the control plane owns the Job", async () => {
    const present = { Job: controlledBy(object.metadata.uid) };
    expect(await look(byCronJob, present)).toEqual({ kind: "succeeded" });
  });

  test("does not count if the Job of that name is foreign", async () => {
    expect(await look(byCronJob, { Job: controlledBy("another"), CronJob: {} })).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining('Job "before"'),
    });
  });
});
