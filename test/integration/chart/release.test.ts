import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, Deployment, type Kind, type KubeObject } from "kube-controller-runtime";
import { adminClient, eventually, type LocalCluster, startCluster } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { aControlPlane } from "../../../lab/builders.ts";
import { operatorAccount } from "../../../lab/cluster.ts";
import { startOperatorProcess } from "../../../lab/operator-process.ts";
import type { ControlPlaneSpec } from "../../../src/api/v1alpha1/control-plane.ts";
import * as ourKinds from "../../../src/api/v1alpha1/kinds.ts";
import { chartDir, type Helm, helmFor, succeeded } from "../../support/helm.ts";
import { serveLayouts } from "../../support/layout-registry.ts";
import { buildTestRelease } from "../../support/test-release.ts";

const { CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy } = ourKinds;
const TIME_LIMIT = { withinMs: 30_000 };
const SECRET_LIMIT_BYTES = 1024 * 1024;
const release = { name: "coder-k8s", namespace: "coder-system" };
const crd = "codercontrolplanes.coder.com";

/** The chart of the last release, or of what stands for it: the commit with which charts got their names. */
const previous = join(import.meta.dirname, "../../fixtures/previous-release/coder-k8s-0.1.0.tgz");
const names = {
  version: "0.2.0",
  image: "registry.example/team/coder-k8s",
  repository: "https://forge.example/team/coder-k8s",
};
/** More than the CRDs of this version allow; those of the previous one had no limit. */
const tooMuch: ControlPlaneSpec = { extraEnv: [{ name: "LONG", value: "x".repeat(140_000) }] };

let cluster: LocalCluster;
let built: string;
let helm: Helm;
let person: Client;
beforeAll(async () => {
  cluster = await startCluster({ audit: true, operator: operatorAccount });
  built = await mkdtemp(join(tmpdir(), "coder-k8s-release-"));
  await buildTestRelease(built, names);
  [helm, person] = await Promise.all([helmFor(cluster), adminClient(cluster)]);
});
afterAll(async () => {
  await helm?.[Symbol.asyncDispose]();
  await cluster?.stop();
  await rm(built, { recursive: true, force: true });
});

/** An object that waits for control plane `early`. */
function dependent<T extends KubeObject>({ apiVersion, kind }: Kind<T>, namespace: string): T {
  const spec = { controlPlaneRef: { name: "early" } };
  return { apiVersion, kind, metadata: { namespace, name: "early" }, spec } as unknown as T;
}

async function kubectl(...args: readonly string[]): Promise<string> {
  return succeeded(await cluster.kubectl(args)).stdout;
}

const existing = (kinds: string) =>
  kubectl("get", kinds, "-A", "-o", "name", "-l", "app.kubernetes.io/instance=coder-k8s");

/** Fields of a control plane's status that the API server knows. */
async function knownFields(): Promise<string[]> {
  const { spec } = JSON.parse(await kubectl("get", "crd", crd, "-o", "json"));
  return Object.keys(spec.versions[0].schema.openAPIV3Schema.properties.status.properties);
}

/** Runs the operator as the release's service account with the release's flags, until `work` has ended. */
async function withOperator(values: object, work: () => Promise<void>): Promise<void> {
  const started = new Date();
  const { stdout } = await helm.release("template", {
    ...release,
    values: { ...values, crds: { enabled: false } },
  });
  const flags = stdout.match(/--(namespaces|concurrency)=\S+/g) ?? [];
  await using operator = await startOperatorProcess(cluster, [
    ...flags,
    `--leader-election-namespace=${release.namespace}`,
  ]);
  await work();
  // It gives its Lease back, so the next one leads at once.
  await operator.stop("SIGTERM");
  const requests = await cluster.auditRequests();
  const refused = requests.filter(
    ({ at, user, code }) => at > started && user === cluster.operator.user && code === 403,
  );
  expect(refused.map(({ verb, uri }) => `${verb} ${uri}`)).toEqual([]);
}

/** Makes a control plane and waits until it has a Deployment. */
async function becomesPods(namespace: string, spec: ControlPlaneSpec = {}): Promise<void> {
  await person.create(CoderControlPlane, aControlPlane({ namespace, spec }));
  await eventually(() => person.get(Deployment, { namespace, name: "coder" }), TIME_LIMIT);
}

// Each step is a whole story of helm, API server and operator.
describe("a release", { timeout: 120_000 }, () => {
  let namespace: string;
  let early: readonly KubeObject[];
  beforeAll(async () => {
    namespace = await cluster.createNamespace("customer");
  });

  test("is installed with its CRDs, and says what to do next", async () => {
    const installed = await helm.release("install", { ...release, chart: previous }, "--create-namespace");
    expect(succeeded(installed).stdout).toContain("kubectl get coder --all-namespaces");
    await kubectl("wait", "--for=condition=Established", "--timeout=30s", `crd/${crd}`);
    expect(await knownFields()).not.toContain("workspaceNamespaces");
    early = [
      await person.create(CoderControlPlane, aControlPlane({ namespace, name: "early", spec: tooMuch })),
      await person.create(CoderProvisioner, dependent(CoderProvisioner, namespace)),
      await person.create(CoderWorkspaceProxy, dependent(CoderWorkspaceProxy, namespace)),
    ];
  });

  test("is upgraded from a registry together with its CRDs and its role, and keeps what users have made", async () => {
    await using registry = await serveLayouts({ "team/charts/coder-k8s": join(built, "chart") });
    const chart = `oci://${registry.address}/team/charts/coder-k8s`;
    succeeded(
      await helm.release("upgrade", { ...release, chart }, "--plain-http", `--version=${names.version}`),
    );
    expect(await knownFields()).toContain("workspaceNamespaces");
    const role = JSON.parse(await kubectl("get", "clusterrole", release.name, "-o", "json"));
    const rules = parse(await readFile(join(chartDir, "files/rbac.yaml"), "utf8"));
    expect(role.rules).toEqual([...rules.operator, ...rules.clusterScoped]);
    const { spec } = await person.get(Deployment, release);
    expect(spec?.template.spec?.containers[0]?.image).toBe(`${names.image}:${names.version}`);
    const now = [
      await person.get(CoderControlPlane, { namespace, name: "early" }),
      await person.get(CoderProvisioner, { namespace, name: "early" }),
      await person.get(CoderWorkspaceProxy, { namespace, name: "early" }),
    ];
    // Fields that are new may have a default; nothing else changes.
    expect(now).toMatchObject(early);
  });

  test("fits in the Secret in which helm keeps it, with room to grow", async () => {
    const secrets = JSON.parse(
      await kubectl("get", "secret", "-n", release.namespace, "-l", "owner=helm", "-o", "json"),
    );
    const sizes = secrets.items.map(
      ({ data }: { data: { release: string } }) => Buffer.from(data.release, "base64").length,
    );
    expect(sizes).toHaveLength(2);
    expect(Math.max(...sizes)).toBeLessThan(SECRET_LIMIT_BYTES / 2);
  });

  test("allows all that the operator does", async () => {
    await withOperator({}, async () => {
      await becomesPods(namespace, { expose: { ingress: { host: "coder.example.com" } } });
      await eventually(() => person.get(Deployment, { namespace, name: "early" }), TIME_LIMIT);
    });
    expect(await kubectl("get", "lease", "-n", release.namespace, "-o", "name")).toContain(
      "coder-k8s-controller",
    );
  });

  test("moves from the whole cluster to chosen namespaces, and allows all that the operator does there", async () => {
    const watchNamespaces = [await cluster.createNamespace("team"), await cluster.createNamespace("team")];
    succeeded(await helm.release("upgrade", { ...release, values: { watchNamespaces } }));
    expect(await existing("clusterrolebindings")).toBe("");
    await withOperator({ watchNamespaces }, async () => {
      await Promise.all(watchNamespaces.map((team) => becomesPods(team)));
    });
  });

  test("is uninstalled without a trace but the CRDs and what users have made", async () => {
    succeeded(await helm.run(["uninstall", release.name, "--namespace", release.namespace]));
    const left = await existing("deployments,services,serviceaccounts,pdb,roles,rolebindings,crds");
    const crds = Object.values(ourKinds).map(
      ({ plural }) => `customresourcedefinition.apiextensions.k8s.io/${plural}.coder.com`,
    );
    expect(left.trim().split("\n")).toEqual(crds.sort());
    await person.get(CoderControlPlane, { namespace, name: "early" });
  });

  test("is installed again over the CRDs that it left", async () => {
    succeeded(await helm.release("install", release));
    await person.get(CoderControlPlane, { namespace, name: "early" });
  });

  test("takes the CRDs and what users have made along only when asked to", async () => {
    // No operator runs here that would take its finalizers off.
    const metadata = { finalizers: null };
    for (const kind of [CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy] as Kind[])
      await person.mergePatch(kind, { namespace, name: "early" }, { metadata });
    succeeded(await helm.release("upgrade", { ...release, values: { crds: { keep: false } } }));
    succeeded(await helm.run(["uninstall", release.name, "--namespace", release.namespace]));
    await eventually(
      async () => expect(await kubectl("get", "crds", "-o", "name")).not.toContain(".coder.com"),
      TIME_LIMIT,
    );
  });
});
