import { ConfigMap, Lease, runOperator } from "kube-controller-runtime";
import { RuntimeMetrics } from "kube-controller-runtime/prometheus";
import { adminClient, eventually, onFreePort, silentLog } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import { greeter } from "../../docs/examples/greeting-operator.ts";
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

test("the operator of the documentation greets, repairs its greeting, and serves metrics to those who may read them", async () => {
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
  const [probes, scrapes] = await Promise.all([freePort(), freePort()]);
  const running = runOperator({
    ...greeter,
    kubeconfig: cluster.admin.kubeconfig,
    signal: stop.signal,
    leaderElection: { namespace },
    probeAddress: `127.0.0.1:${probes}`,
    metrics: new RuntimeMetrics({ prefix: "greeter_" }),
    metricsAddress: `127.0.0.1:${scrapes}`,
    metricsAuth: true,
    log: silentLog,
  });

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

  expect((await person.get(Lease, { namespace, name: "greeter" })).spec?.holderIdentity).toMatch(/^greeter-/);
  expect((await fetch(`http://127.0.0.1:${probes}/readyz`)).status).toBe(200);
  const scraper = await cluster.createServiceAccount(namespace, "scraper");
  const guest = await cluster.createServiceAccount(namespace, "guest");
  await cluster.apply(mayScrape(scraper.user, namespace));
  const mayGet = ["auth", "can-i", "get", "/metrics", "--kubeconfig", scraper.kubeconfig];
  await eventually(async () => expect((await cluster.kubectl(mayGet)).code).toBe(0), { withinMs: 10_000 });
  const scrape = (headers: Record<string, string>) =>
    fetch(`http://127.0.0.1:${scrapes}/metrics`, { headers });
  expect((await scrape({})).status).toBe(401);
  expect((await scrape({ authorization: `Bearer ${guest.token}` })).status).toBe(403);
  const scraped = await scrape({ authorization: `Bearer ${scraper.token}` });
  expect(scraped.status).toBe(200);
  expect(await scraped.text()).toMatch(
    /^greeter_api_request_duration_seconds_count\{verb="apply",resource="configmaps"\} [1-9]/m,
  );

  stop.abort();
  await running;
  await expect(fetch(`http://127.0.0.1:${probes}/readyz`)).rejects.toThrow();
});

const freePort = () => onFreePort(async (port) => port);

/** Lets a user read metrics, and nothing else. */
function mayScrape(user: string, name: string): object {
  const [apiVersion, apiGroup] = ["rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io"];
  const items = [
    {
      apiVersion,
      kind: "ClusterRole",
      metadata: { name },
      rules: [{ nonResourceURLs: ["/metrics"], verbs: ["get"] }],
    },
    {
      apiVersion,
      kind: "ClusterRoleBinding",
      metadata: { name },
      roleRef: { apiGroup, kind: "ClusterRole", name },
      subjects: [{ apiGroup, kind: "User", name: user }],
    },
  ];
  return { apiVersion: "v1", kind: "List", items };
}
