import {
  type Client,
  controllerOf,
  Deployment,
  findCondition,
  type Kind,
  type KubeObject,
  keyOfObject,
  kind,
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

const TIME_LIMIT = { withinMs: 40_000 };
const OLD_PODS = "app.kubernetes.io/name=coder";
const NEW_PODS = "app.kubernetes.io/name=coder-control-plane";

interface EndpointSlice extends KubeObject {
  endpoints?: { addresses: string[]; conditions?: { ready?: boolean } }[] | null;
}
const EndpointSlice = kind<EndpointSlice>("discovery.k8s.io/v1", {
  kind: "EndpointSlice",
  plural: "endpointslices",
});
const Pod = kind<KubeObject & { spec?: { nodeName?: string } }>("v1", { kind: "Pod", plural: "pods" });
const Node = kind<KubeObject>("v1", { kind: "Node", plural: "nodes", namespaced: false });
const Binding = kind<KubeObject & { target: object }>("v1", { kind: "Binding", plural: "bindings" });

const install = installerOfCharts();

describe("moving a control plane from Coder's chart", () => {
  let cluster: ClusterAccess;
  let helm: Helm;
  let person: Client;
  let operator: RunningOperator;
  let namespace: string;
  const stop = new AbortController();
  /** How many endpoints of the Service were ready, after every change. */
  const ready: number[] = [];
  const seen = new Map<string, Stored<EndpointSlice>>();
  let addresses = 0;

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
    // Endpoints are made for pods of a node that exists.
    await person.create(Node, { metadata: { name: namespace } });
    await podsAreReady(OLD_PODS);
    await eventually(async () => expect(readyIn(await slices())).toBeGreaterThan(0), TIME_LIMIT);
    followEndpoints(await listEndpoints()).catch((error) => {
      if (!stop.signal.aborted) throw error;
    });
    operator = await startOperator(cluster, { namespaces: [namespace] });
  }, 120_000);
  afterAll(async () => {
    stop.abort();
    await operator?.stop();
    await person?.delete(Node, { name: namespace });
    await helm?.[Symbol.asyncDispose]();
  });

  const ref = { name: "coder" };
  const get = <T extends KubeObject>(child: Kind<T>) => person.get(child, { namespace, ...ref });
  const controlPlane = () => person.get(CoderControlPlane, { namespace, ...ref });
  const slices = async () => (await person.list(EndpointSlice, { namespace })).items;
  const readyIn = (items: Iterable<EndpointSlice>) =>
    [...items].flatMap(({ endpoints }) => endpoints ?? []).filter(({ conditions }) => conditions?.ready)
      .length;
  const condition = async (type: string) => findCondition((await controlPlane()).status?.conditions, type);

  /** Plays scheduler and kubelet: the pods get a node, addresses and are ready. */
  async function podsAreReady(labelSelector: string): Promise<void> {
    await eventually(async () => {
      const { items } = await person.list(Pod, { namespace, labelSelector });
      expect(items.length).toBeGreaterThan(0);
      for (const { metadata, spec } of items) {
        const target = { apiVersion: "v1", kind: "Node", name: namespace };
        if (!spec?.nodeName)
          await person.create(Binding, { metadata: { namespace, name: metadata.name }, target });
        const podIP = `10.9.0.${++addresses}`;
        const status = { podIP, podIPs: [{ ip: podIP }] };
        await person.patchStatus(Pod, { namespace, name: metadata.name }, { status });
      }
    }, TIME_LIMIT);
    await cluster.markPodsReady(namespace, labelSelector);
  }

  /** Before anything changes, so that no change is missed. */
  async function listEndpoints(): Promise<string> {
    const { items, resourceVersion } = await person.list(EndpointSlice, { namespace });
    for (const slice of items) seen.set(keyOfObject(slice), slice);
    return resourceVersion;
  }

  async function followEndpoints(resourceVersion: string): Promise<void> {
    const options = { namespace, resourceVersion, timeoutSeconds: 600, idleTimeoutMs: 600_000 };
    for await (const { type, object } of person.watch(EndpointSlice, { ...options, signal: stop.signal })) {
      if (type === "BOOKMARK") continue;
      if (type === "DELETED") seen.delete(keyOfObject(object));
      else seen.set(keyOfObject(object), object);
      ready.push(readyIn(seen.values()));
    }
  }

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
    await person.mergePatch(
      CoderControlPlane,
      { namespace, name: "coder" },
      { metadata: { annotations: { look: "now" } } },
    );
    await eventually(async () => {
      expect(controllerOf(await get(ServiceAccount))?.kind).toBe("CoderControlPlane");
      expect(controllerOf(await get(Deployment))?.kind).toBe("CoderControlPlane");
      expect(await condition("ServiceReady")).toMatchObject({ reason: "HandOverPending" });
    }, TIME_LIMIT);
    expect((await get(Service)).spec?.selector).toMatchObject({ "app.kubernetes.io/name": "coder" });
    expect((await person.list(Pod, { namespace, labelSelector: OLD_PODS })).items).toHaveLength(1);
  });

  test("switches the Service last, and at no moment was it without a ready endpoint", async () => {
    await podsAreReady(NEW_PODS);
    await eventually(async () => {
      const service = await get(Service);
      expect(controllerOf(service)?.kind).toBe("CoderControlPlane");
      expect(service.spec?.selector).toMatchObject({ "app.kubernetes.io/name": "coder-control-plane" });
      expect(service.spec?.ports).toMatchObject([{ name: "http", port: 80, targetPort: 8080 }]);
    }, TIME_LIMIT);
    const [pod] = (await person.list(Pod, { namespace, labelSelector: NEW_PODS })).items;
    const { podIP } = (pod as { status?: { podIP?: string } } | undefined)?.status ?? {};
    // By what the watch has shown: a list may be ahead of it.
    await eventually(() => {
      const served = [...seen.values()].flatMap(({ endpoints }) => endpoints ?? []);
      expect(served.flatMap((endpoint) => endpoint.addresses)).toEqual([podIP]);
    }, TIME_LIMIT);
    expect(ready.length).toBeGreaterThan(0);
    expect(Math.min(...ready)).toBeGreaterThan(0);
    expect(await condition("Conflict")).toBeUndefined();
  });

  test("ends with a release that is forgotten, not uninstalled: all that it shares with us stays", async () => {
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
