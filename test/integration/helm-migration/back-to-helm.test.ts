import { readFile } from "node:fs/promises";
import {
  type Client,
  controllerOf,
  Deployment,
  findCondition,
  Pod,
  ReplicaSet,
  Role,
  RoleBinding,
  Service,
  ServiceAccount,
  systemClock,
} from "kube-controller-runtime";
import { adminClient, type ClusterAccess, eventually, transportAs } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RunningOperator, startOperator } from "../../../lab/operator.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { sharedClusterWithControllers } from "../../support/cluster/shared.ts";
import { type Helm, helmFor, succeeded } from "../../support/helm.ts";
import { kubectlCoder } from "../../support/plugin.ts";
import { installerOfCharts } from "./charts.ts";
import { Serving, TIME_LIMIT } from "./serving.ts";

const OUR_PODS = "app.kubernetes.io/name=coder-control-plane";
const HELM_PODS = "app.kubernetes.io/name=coder,app.kubernetes.io/instance=coder";
const env = [{ name: "CODER_PG_CONNECTION_URL", value: "postgres://coder@db/coder" }];
const values = { coder: { image: { tag: "v2.26.0" }, env, replicaCount: 2 } };
const manifest = { image: "ghcr.io/coder/coder:v2.26.0", replicas: 2, extraEnv: env };

const install = installerOfCharts();

describe("going back to Coder's chart", () => {
  let cluster: ClusterAccess;
  let helm: Helm;
  let person: Client;
  beforeAll(async () => {
    cluster = await sharedClusterWithControllers();
    [person, helm] = await Promise.all([adminClient(cluster), helmFor(cluster)]);
  }, 120_000);
  afterAll(() => helm?.[Symbol.asyncDispose]());

  async function releaseToHelm(namespace: string) {
    const transport = await transportAs(cluster.admin);
    try {
      return await kubectlCoder(
        { transport, clock: systemClock, namespace },
        ...["release-to", "helm", "coder"],
      );
    } finally {
      await transport.close();
    }
  }

  const podsIn = async (namespace: string, labelSelector: string) =>
    (await person.list(Pod, { namespace, labelSelector })).items;

  function createControlPlane(namespace: string) {
    return person.create(CoderControlPlane, {
      ...{ apiVersion: CoderControlPlane.apiVersion, kind: CoderControlPlane.kind },
      ...{ metadata: { namespace, name: "coder" }, spec: manifest },
    });
  }

  describe("a control plane that serves", () => {
    let namespace: string;
    let serving: Serving;
    let operator: RunningOperator;
    const ref = () => ({ namespace, name: "coder" });
    beforeAll(async () => {
      namespace = await cluster.createNamespace("back-to-helm");
      serving = new Serving(cluster, person, namespace);
      await serving.begin();
      operator = await startOperator(cluster, { namespaces: [namespace] });
      await createControlPlane(namespace);
      await serving.podsAreReady(OUR_PODS, 2);
      await serving.follow();
    }, 120_000);
    afterAll(async () => {
      await operator?.stop();
      await serving?.end();
    });

    test("is handed over by one command, which stops no pod", async () => {
      const before = await podsIn(namespace, OUR_PODS);
      const seen = await releaseToHelm(namespace);
      expect(seen).toMatchObject({ code: 0, error: "" });
      expect(seen.out.replaceAll(namespace, "coder")).toMatchInlineSnapshot(`
        "controlplane/coder handed over to Helm release "coder"
        Service "coder", ServiceAccount "coder". The pods keep running.

        Now run:
          helm upgrade --install coder coder-v2/coder --namespace coder --version 2.26.0 --values values.yaml
          kubectl -n coder rollout status deployment/coder
          kubectl -n coder delete codercontrolplane coder
        "
      `);
      const page = await readFile("docs/tutorials/from-the-helm-charts.md", "utf8");
      const commands = seen.out.split("Now run:\n").at(-1)?.trimEnd().replaceAll(/^ +/gm, "") ?? "";
      expect(page).toContain(commands.replaceAll(namespace, "coder"));
      const after = await podsIn(namespace, HELM_PODS);
      const uids = (pods: typeof before) => pods.map(({ metadata }) => metadata.uid).sort();
      expect(uids(after)).toEqual(uids(before));
      expect((await person.get(Service, ref())).spec?.selector).toEqual({
        "app.kubernetes.io/name": "coder",
        "app.kubernetes.io/instance": "coder",
      });
      await expect(person.get(Deployment, ref())).rejects.toMatchObject({ code: 404 });
    });

    test("does the same when it is run again", async () => {
      const before = await podsIn(namespace, HELM_PODS);
      expect(await releaseToHelm(namespace)).toMatchObject({ code: 0, error: "" });
      expect((await podsIn(namespace, HELM_PODS)).length).toBe(before.length);
    });

    test("is taken over by helm without a flag, by a rolling update", async () => {
      await install(helm, { name: "coder", chart: "coder", namespace, values, upgrade: true });
      await eventually(async () => {
        await serving.podsAreReady(HELM_PODS, 2);
        const { spec, status } = await person.get(Deployment, ref());
        expect(status).toMatchObject({ replicas: 2, updatedReplicas: 2, availableReplicas: 2 });
        expect(spec?.selector.matchLabels).toHaveProperty(["app.kubernetes.io/name"], "coder");
      }, TIME_LIMIT);
      const sets = (await person.list(ReplicaSet, { namespace })).items;
      for (const set of sets) expect(controllerOf(set)?.kind).toBe("Deployment");
      const released = sets.filter(({ metadata }) => metadata.name.endsWith("-released"));
      expect(released.map(({ spec }) => spec?.replicas)).toEqual([0]);
    });

    test("leaves no objects of the operator, and deletes no objects of Helm with the control plane", async () => {
      await person.delete(CoderControlPlane, ref());
      await eventually(async () => {
        const names = async (kind: typeof Role | typeof RoleBinding) =>
          (await person.list(kind, { namespace })).items.map(({ metadata }) => metadata.name);
        expect(await names(Role)).toEqual(["coder-workspace-perms"]);
        expect(await names(RoleBinding)).toEqual(["coder"]);
      }, TIME_LIMIT);
      for (const kind of [Deployment, Service, ServiceAccount]) {
        const { metadata } = await person.get(kind as typeof Service, ref());
        expect(metadata.ownerReferences ?? []).toEqual([]);
        const managers = metadata.managedFields?.map(({ manager }) => manager) ?? [];
        expect(managers).not.toContain("coder-k8s");
      }
      expect((await person.get(Service, ref())).metadata.labels).toMatchObject({
        "app.kubernetes.io/managed-by": "Helm",
      });
    });

    test("was without a ready endpoint at no moment", () => {
      expect(serving.fewest).toBeGreaterThan(0);
    });
  });

  describe("a move that is given up before the Service switched", () => {
    let namespace: string;
    let serving: Serving;
    let operator: RunningOperator;
    const ref = () => ({ namespace, name: "coder" });
    beforeAll(async () => {
      namespace = await cluster.createNamespace("given-up");
      serving = new Serving(cluster, person, namespace);
      await serving.begin();
      await install(helm, { name: "coder", chart: "coder", namespace, values });
      await serving.podsAreReady(HELM_PODS, 2);
      await serving.follow();
      for (const resource of ["serviceaccounts", "services"]) {
        const annotation = "coder.com/adopt-by=CoderControlPlane/coder";
        succeeded(await cluster.kubectl(["-n", namespace, "annotate", resource, "coder", annotation]));
      }
      await person.delete(Deployment, ref(), { propagation: "Orphan" });
      operator = await startOperator(cluster, { namespaces: [namespace] });
      await createControlPlane(namespace);
      await eventually(async () => {
        const { status } = await person.get(CoderControlPlane, ref());
        const service = findCondition(status?.conditions, "ServiceReady");
        expect(service).toMatchObject({ reason: "HandOverPending" });
        expect(await podsIn(namespace, OUR_PODS)).toHaveLength(2);
      }, TIME_LIMIT);
    }, 120_000);
    afterAll(async () => {
      await operator?.stop();
      await serving?.end();
    });

    test("ends with the old pods, adopted by the chart's Deployment", async () => {
      const before = await podsIn(namespace, HELM_PODS);
      expect(await releaseToHelm(namespace)).toMatchObject({ code: 0, error: "" });
      await install(helm, { name: "coder", chart: "coder", namespace, values, upgrade: true });
      await eventually(async () => {
        expect(await podsIn(namespace, OUR_PODS)).toHaveLength(0);
        const { status } = await person.get(Deployment, ref());
        expect(status).toMatchObject({ replicas: 2, updatedReplicas: 2, availableReplicas: 2 });
      }, TIME_LIMIT);
      const uids = (pods: typeof before) => pods.map(({ metadata }) => metadata.uid).sort();
      expect(uids(await podsIn(namespace, HELM_PODS))).toEqual(uids(before));
      expect(serving.fewest).toBeGreaterThan(0);
    });
  });
});
