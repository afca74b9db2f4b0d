import { readdirSync, readFileSync } from "node:fs";
import { eventually, type LocalCluster, startCluster } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { manifests, operatorAccount } from "../../../lab/cluster.ts";
import type { ControlPlaneSpec } from "../../../src/api/v1alpha1/control-plane.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { essenceOfChildren } from "../../support/dump.ts";
import { openStage, type Stage } from "./stage.ts";

const specs: Readonly<Record<string, ControlPlaneSpec | undefined>> = {
  "without-a-spec": undefined,
  "with-an-empty-spec": {},
  "with-empty-parts": {
    certs: {},
    livenessProbe: {},
    operatorAccess: {},
    rbac: {},
    readinessProbe: {},
    service: {},
    serviceAccount: {},
    tls: {},
  },
};

let cluster: LocalCluster;
let stage: Stage;
beforeAll(async () => {
  cluster = await startCluster({ audit: true, operator: operatorAccount });
  await Promise.all([cluster.install(manifests.rbac), cluster.apply(definitionsWithoutDefaults())]);
  await cluster.kubectl(["wait", "--for=condition=Established", "--timeout=30s", "crd", "--all"]);
  stage = await openStage(cluster, "old");
  for (const [name, spec] of Object.entries(specs)) {
    await stage.person.create(CoderControlPlane, { metadata: stage.ref(name), ...(spec ? { spec } : {}) });
  }
});
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  await cluster?.stop();
});

/** The CRDs as of the last write of old objects. */
function definitionsWithoutDefaults(): string {
  const folder = new URL("../../../config/crd/", import.meta.url);
  const items = readdirSync(folder).map((file) => parse(readFileSync(new URL(file, folder), "utf8")));
  const list = { apiVersion: "v1", kind: "List", items };
  // A part of the key of a list must have its default: the protocol of ports.
  const isDropped = (key: string, value: unknown) => key === "default" && value !== "TCP";
  return JSON.stringify(list, (key, value) => (isDropped(key, value) ? undefined : value));
}

const children = (name: string) => essenceOfChildren(stage.person, stage.ref(name));

describe("an object that was stored before there were defaults", () => {
  test("is stored without them in this cluster", async () => {
    expect((await stage.controlPlane("without-a-spec")).spec).toBeUndefined();
    expect((await stage.controlPlane("with-an-empty-spec")).spec).toEqual({});
  });

  test.each(Object.keys(specs))("%s gets every child and a status", async (name) => {
    const { status } = await stage.settled(name);
    expect(status).toMatchObject({
      phase: "Pending",
      url: `http://${name}.${stage.namespace}.svc.cluster.local:80`,
    });
    expect(await children(name)).toHaveLength(5);
  });

  test("keeps its children as they are when the CRD gets defaults, and they are what defaults make", async () => {
    await stage.settled("without-a-spec");
    const before = await Promise.all(Object.keys(specs).map(children));
    await cluster.install(manifests.crds);
    // The API server serves the new schema a moment after it has stored it.
    await eventually(
      async () => {
        const { stdout } = await cluster.kubectl([
          "get",
          "ccp",
          "with-an-empty-spec",
          "-n",
          stage.namespace,
          "-o",
          "json",
        ]);
        expect(JSON.parse(stdout).spec?.replicas).toBe(1);
      },
      { withinMs: 15_000 },
    );
    await stage.person.create(CoderControlPlane, { metadata: stage.ref("new"), spec: {} });
    await stage.settled("new");
    expect(await Promise.all(Object.keys(specs).map(children))).toEqual(before);
    const created = await children("new");
    expect(before).toEqual(before.map(() => created));
  });
});
