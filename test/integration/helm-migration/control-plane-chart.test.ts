import {
  type Client,
  controllerOf,
  Deployment,
  findCondition,
  type Kind,
  type KubeObject,
  Pod,
  Role,
  RoleBinding,
  Service,
  ServiceAccount,
  type Stored,
} from "kube-controller-runtime";
import { adminClient, type ClusterAccess, eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RunningOperator, startOperator } from "../../../lab/operator.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { sharedClusterWithControllers } from "../../support/cluster/shared.ts";
import { type Helm, helmFor, succeeded } from "../../support/helm.ts";
import { installerOfCharts } from "./charts.ts";
import { Serving, TIME_LIMIT } from "./serving.ts";

const OLD_PODS = "app.kubernetes.io/name=coder";
const NEW_PODS = "app.kubernetes.io/name=coder-control-plane";

const install = installerOfCharts();

describe("moving a control plane from Coder's chart", () => {
  let cluster: ClusterAccess;
  let helm: Helm;
  let person: Client;
  let operator: RunningOperator;
  let namespace: string;
  let serving: Serving;

  beforeAll(async () => {
    cluster = await sharedClusterWithControllers();
    [namespace, person, helm] = await Promise.all([
      cluster.createNamespace("from-helm"),
      adminClient(cluster),
      helmFor(cluster),
    ]);
    const env = [{ name: "CODER_PG_CONNECTION_URL", value: "postgres://coder@db/coder" }];
    await install(helm, {
      name: "coder",
      chart: "coder",
      namespace,
      values: { coder: { image: { tag: "v2.26.0" }, env } },
    });
    serving = new Serving(cluster, person, namespace);
    await serving.begin();
    await serving.podsAreReady(OLD_PODS);
    await serving.follow();
    operator = await startOperator(cluster, { namespaces: [namespace] });
  }, 120_000);
  afterAll(async () => {
    await operator?.stop();
    await serving?.end();
    await helm?.[Symbol.asyncDispose]();
  });

  const ref = { name: "coder" };
  const get = <T extends KubeObject>(child: Kind<T>) => person.get(child, { namespace, ...ref });
  const controlPlane = () => person.get(CoderControlPlane, { namespace, ...ref });
  const condition = async (type: string) => findCondition((await controlPlane()).status?.conditions, type);

  test("begins with a conflict that names the release, and changes nothing of it", async () => {
    const before = await Promise.all([get(Deployment), get(Service), get(ServiceAccount)]);
    await person.create(CoderControlPlane, {
      apiVersion: CoderControlPlane.apiVersion,
      kind: CoderControlPlane.kind,
      metadata: { namespace, name: "coder" },
      spec: { extraEnv: [{ name: "CODER_PG_CONNECTION_URL", value: "postgres://coder@db/coder" }] },
    });
    const conflict = await eventually(async () => {
      const found = await condition("Conflict");
      expect(found).toMatchObject({ status: "True" });
      return found;
    }, TIME_LIMIT);
    for (const { kind: name = "" } of [ServiceAccount, Service] as Kind[])
      expect(conflict?.message).toContain(`${name} "${namespace}/coder" belongs to Helm release "coder"`);
    const after = await Promise.all([get(Deployment), get(Service), get(ServiceAccount)]);
    const withoutStatus = ({ metadata, ...rest }: Stored<KubeObject>) => ({
      ...rest,
      status: undefined,
      metadata: { ...metadata, resourceVersion: "", managedFields: [] },
    });
    expect(after.map(withoutStatus)).toEqual(before.map(withoutStatus));
  });

  test("leaves the old pods in service until the new ones are ready", async () => {
    for (const resource of ["serviceaccounts", "services"]) {
      const annotation = "coder.com/adopt-by=CoderControlPlane/coder";
      succeeded(await cluster.kubectl(["-n", namespace, "annotate", resource, "coder", annotation]));
    }
    succeeded(await cluster.kubectl(["-n", namespace, "delete", "deployment", "coder", "--cascade=orphan"]));
    await eventually(async () => {
      expect(controllerOf(await get(ServiceAccount))?.kind).toBe("CoderControlPlane");
      expect(controllerOf(await get(Deployment))?.kind).toBe("CoderControlPlane");
      expect(await condition("ServiceReady")).toMatchObject({ reason: "HandOverPending" });
    }, TIME_LIMIT);
    expect((await get(Service)).spec?.selector).toMatchObject({ "app.kubernetes.io/name": "coder" });
    expect((await person.list(Pod, { namespace, labelSelector: OLD_PODS })).items).toHaveLength(1);
  });

  test("switches the Service last, and at no moment was it without a ready endpoint", async () => {
    await serving.podsAreReady(NEW_PODS);
    await eventually(async () => {
      const service = await get(Service);
      expect(controllerOf(service)?.kind).toBe("CoderControlPlane");
      expect(service.spec?.selector).toMatchObject({ "app.kubernetes.io/name": "coder-control-plane" });
      expect(service.spec?.ports).toMatchObject([{ name: "http", port: 80, targetPort: 8080 }]);
    }, TIME_LIMIT);
    const [pod] = (await person.list(Pod, { namespace, labelSelector: NEW_PODS })).items;
    await eventually(() => expect(serving.addresses).toEqual([pod?.status?.podIP]), TIME_LIMIT);
    expect(serving.fewest).toBeGreaterThan(0);
    expect(await condition("Conflict")).toBeUndefined();
  });

  test("ends with a release that is forgotten, not uninstalled: shared objects are kept", async () => {
    succeeded(await cluster.kubectl(["-n", namespace, "delete", "replicasets", "-l", OLD_PODS]));
    const forget = ["-n", namespace, "delete", "secrets", "-l", "owner=helm,name=coder"];
    succeeded(await cluster.kubectl(forget));
    expect(succeeded(await helm.run(["list", "--namespace", namespace, "--short"])).stdout.trim()).toBe("");
    expect(await get(Service)).toBeDefined();
    const ofChart = ["role/coder-workspace-perms", "rolebinding/coder"];
    succeeded(await cluster.kubectl(["-n", namespace, "delete", ...ofChart]));
    expect((await person.list(Role, { namespace })).items).toHaveLength(1);
    expect((await person.list(RoleBinding, { namespace })).items).toHaveLength(1);
  });
});
