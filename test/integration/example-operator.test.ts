import { ConfigMap } from "kube-controller-runtime";
import { adminClient, eventually } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import { runGreeter } from "../../docs/examples/greeting-operator.ts";
import { sharedCluster } from "../support/cluster/shared.ts";

const crd = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "greetings.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { kind: "Greeting", plural: "greetings" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        },
      },
    ],
  },
};

test("the operator of the documentation greets, and repairs its greeting within seconds", async () => {
  const cluster = sharedCluster();
  await cluster.apply(crd);
  await cluster.kubectl([
    "wait",
    "--for=condition=Established",
    "crd/greetings.example.com",
    "--timeout=30s",
  ]);
  const namespace = await cluster.createNamespace("greeting");
  const person = await adminClient(cluster);
  const ref = { namespace, name: "ada" };
  const stop = new AbortController();
  const running = runGreeter(stop.signal, cluster.admin.kubeconfig);

  await cluster.apply({
    apiVersion: "example.com/v1",
    kind: "Greeting",
    metadata: ref,
    spec: { name: "Ada" },
  });
  const greeting = async () => (await person.get(ConfigMap, ref)).data?.text;
  await eventually(async () => expect(await greeting()).toBe("Hello, Ada!"), { withinMs: 10_000 });
  await person.mergePatch(ConfigMap, ref, { data: { text: "Go away!" } });
  await eventually(async () => expect(await greeting()).toBe("Hello, Ada!"), { withinMs: 5_000 });
  const { stdout } = await cluster.kubectl([
    "-n",
    namespace,
    "get",
    "greeting",
    "ada",
    "-o",
    "jsonpath={.status.conditions[0].message}",
  ]);
  expect(stdout).toBe("Hello, Ada!");

  stop.abort();
  await running;
});
