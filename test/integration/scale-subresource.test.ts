import {
  type Client,
  Deployment,
  findCondition,
  type KubeObject,
  kind,
  Secret,
} from "kube-controller-runtime";
import { adminClient, type ClusterAccess, eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RunningOperator, startOperator } from "../../lab/operator.ts";
import { CoderWorkspaceProxy } from "../../src/api/v1alpha1/kinds.ts";
import { sharedClusterWithControllers } from "../support/cluster/shared.ts";

const TIME_LIMIT = { withinMs: 50_000 };
const HorizontalPodAutoscaler = kind<KubeObject & { spec: object; status?: object }>("autoscaling/v2", {
  kind: "HorizontalPodAutoscaler",
  plural: "horizontalpodautoscalers",
});

describe("the scale subresource of a workspace proxy", () => {
  let cluster: ClusterAccess;
  let person: Client;
  let operator: RunningOperator;
  let namespace: string;
  beforeAll(async () => {
    cluster = await sharedClusterWithControllers();
    [namespace, person] = await Promise.all([cluster.createNamespace("scaled"), adminClient(cluster)]);
    operator = await startOperator(cluster, { namespaces: [namespace] });
    const data = { token: Buffer.from("not-a-secret").toString("base64") };
    await person.create(Secret, { metadata: { namespace, name: "token" }, data });
    await person.create(CoderWorkspaceProxy, {
      apiVersion: CoderWorkspaceProxy.apiVersion,
      kind: CoderWorkspaceProxy.kind,
      metadata: { namespace, name: "sydney" },
      spec: { primaryAccessURL: "https://coder.example.com", proxySessionTokenSecretRef: { name: "token" } },
    });
    await untilPods(1);
  }, 120_000);
  afterAll(() => operator?.stop());

  const proxy = () => person.get(CoderWorkspaceProxy, { namespace, name: "sydney" });

  /** Waits until the object, its Deployment and its status agree on a number. */
  function untilPods(replicas: number): Promise<void> {
    return eventually(async () => {
      const { spec, status } = await proxy();
      expect(spec?.replicas).toBe(replicas);
      expect((await person.get(Deployment, { namespace, name: "wsproxy-sydney" })).spec?.replicas).toBe(
        replicas,
      );
      expect(status?.replicas).toBe(replicas);
    }, TIME_LIMIT);
  }

  test("finds the pods by the labels in status", async () => {
    const { status } = await proxy();
    const pods = await cluster.kubectl([
      "-n",
      namespace,
      "get",
      "pods",
      "-l",
      status?.selector ?? "none",
      "-o",
      "name",
    ]);
    expect(pods.stdout.trim().split("\n")).toHaveLength(1);
  });

  test("allows kubectl scale to change the number, and the operator follows", async () => {
    const scale = ["-n", namespace, "scale", "coderworkspaceproxy", "sydney", "--replicas=3"];
    expect(await cluster.kubectl(scale)).toMatchObject({ code: 0, stderr: "" });
    await untilPods(3);
  });

  test("allows an autoscaler to change the number, which the operator does not revert", async () => {
    const { apiVersion, kind: target } = CoderWorkspaceProxy;
    const metric = { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } };
    await person.create(HorizontalPodAutoscaler, {
      metadata: { namespace, name: "sydney" },
      spec: {
        scaleTargetRef: { apiVersion, kind: target, name: "sydney" },
        minReplicas: 4,
        maxReplicas: 5,
        metrics: [{ type: "Resource", resource: metric }],
      },
    });
    await untilPods(4);
    await person.mergePatch(
      CoderWorkspaceProxy,
      { namespace, name: "sydney" },
      { spec: { labels: { team: "platform" } } },
    );
    await eventually(async () => {
      const { metadata, status } = await proxy();
      expect(status?.observedGeneration).toBe(metadata.generation);
      expect(findCondition(status?.conditions, "DeploymentReady")).toBeDefined();
    }, TIME_LIMIT);
    await untilPods(4);
  });

  test("refuses a negative number and keeps the one there is", async () => {
    const scale = ["-n", namespace, "scale", "coderworkspaceproxy", "sydney", "--replicas=-1"];
    expect((await cluster.kubectl(scale)).code).not.toBe(0);
    await untilPods(4);
  });
});
