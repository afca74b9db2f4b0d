import {
  CustomResourceDefinition,
  Deployment,
  type KubeObject,
  kind,
  Lease,
  Namespace,
  type Transport,
  type TransportRequest,
  timestamp,
} from "kube-controller-runtime";
import { beforeEach, expect, test } from "vitest";
import * as kinds from "../../../src/api/v1alpha1/kinds.ts";
import type { CheckReport } from "../../../src/plugin/commands/check/report.ts";
import { kubectlCoder, limited, reviewing } from "../../support/plugin.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

let world: MemoryWorld;
beforeEach(async () => {
  world = new MemoryWorld();
  await installed("0.1.0");
});

const labels = { "app.kubernetes.io/name": "coder-k8s", "app.kubernetes.io/version": "1.2.0" };
const system = (name: string) => ({ namespace: "coder-system", name });

/** The operator and its CRDs as the chart makes them. */
async function installed(crds: string): Promise<void> {
  const containers = [{ name: "operator", image: "coder-k8s:1.2.0", args: ["controller"] }];
  const template = { metadata: { labels }, spec: { serviceAccountName: "coder-k8s", containers } };
  const spec = { replicas: 2, selector: { matchLabels: labels }, template };
  await world.person.create(Deployment, { metadata: { ...system("coder-k8s"), labels }, spec });
  await world.person.patchStatus(Deployment, system("coder-k8s"), { status: { availableReplicas: 2 } });
  await world.person.create(Lease, {
    metadata: system("coder-k8s-controller.coder.com"),
    spec: {
      holderIdentity: "coder-k8s-1",
      renewTime: timestamp(world.clock.now()),
      leaseDurationSeconds: 15,
    },
  });
  for (const { plural } of Object.values(kinds)) {
    const name = `${plural}.coder.com`;
    const metadata = { name, labels: { "app.kubernetes.io/version": crds === "0.1.0" ? "1.2.0" : crds } };
    await world.person.create(CustomResourceDefinition, { metadata } as never);
  }
}

/** The API server with an authorizer that lets the operator do what `mayOperator` says. */
function authorizing(mayOperator: (verb: string, resource: string) => boolean): Transport {
  return reviewing(world.api, (verb, resource, user) => {
    expect(user).toBe("system:serviceaccount:coder-system:coder-k8s");
    return mayOperator(verb, resource);
  });
}

async function checked(transport: Transport, ...words: string[]): Promise<CheckReport & { code: number }> {
  const person = { transport, clock: world.clock, namespace: "default" };
  const { code, out } = await kubectlCoder(person, "check", ...words, "-o", "json");
  return { code, ...JSON.parse(out) };
}

const verdicts = ({ findings }: CheckReport) =>
  Object.fromEntries(findings.map(({ what, verdict }) => [what, verdict]));
const saying = ({ findings }: CheckReport, what: string) =>
  findings.find((each) => each.what === what)?.message;

test("a healthy installation is good in every point", async () => {
  const report = await checked(authorizing(() => true));
  expect(report.code).toBe(0);
  expect(new Set(Object.values(verdicts(report)))).toEqual(new Set(["good"]));
  expect(saying(report, "Operator permissions")).toMatch(/has all \d{2,3} required permissions/);
  expect(report.gaps).toEqual([]);
});

test("a role that lacks verbs is wrong, and they are named", async () => {
  const report = await checked(
    authorizing((verb, resource) => !(verb === "patch" && resource === "secrets")),
  );
  expect(report.code).toBe(3);
  expect(saying(report, "Operator permissions")).toContain("may not patch secrets: update its role");
});

test("an operator that is missing, not available or without a live Lease is wrong", async () => {
  await world.person.patchStatus(Deployment, system("coder-k8s"), { status: { availableReplicas: 0 } });
  world.clock.jump(60_000);
  expect(verdicts(await checked(authorizing(() => true)))).toMatchObject({
    "Operator healthy": "wrong",
    "Operator leads": "wrong",
  });
  await world.person.delete(Deployment, system("coder-k8s"));
  expect(verdicts(await checked(authorizing(() => true)))).toMatchObject({ "Operator installed": "wrong" });
});

test("an operator without the right to its Lease is told from one that has none yet", async () => {
  await world.person.delete(Lease, system("coder-k8s-controller.coder.com"));
  const report = await checked(authorizing((_, resource) => resource !== "leases"));
  expect(report.code).toBe(3);
  expect(saying(report, "Operator leads")).toBe(
    'No replica leads: "system:serviceaccount:coder-system:coder-k8s" may not get/create/patch leases.coordination.k8s.io in "coder-system". Update its role with helm upgrade.',
  );
  expect(saying(await checked(authorizing(() => true)), "Operator leads")).toBe(
    'No replica holds the Lease "coder-k8s-controller.coder.com": check the operator\'s log.',
  );
});

test("the Lease is looked for in the namespace that the operator's flag names", async () => {
  const args = ["controller", "--leader-election-namespace=elections"];
  const containers = [{ name: "operator", image: "coder-k8s:1.2.0", args }];
  await world.person.mergePatch(Deployment, system("coder-k8s"), {
    spec: { template: { spec: { containers } } },
  });
  const metadata = { namespace: "elections", name: "coder-k8s-controller.coder.com" };
  await world.person.create(Lease, {
    metadata,
    spec: { holderIdentity: "x", renewTime: timestamp(world.clock.now()), leaseDurationSeconds: 15 },
  });
  await world.person.delete(Lease, system("coder-k8s-controller.coder.com"));
  expect(verdicts(await checked(authorizing(() => true)))).toMatchObject({ "Operator leads": "good" });
  const report = await checked(authorizing((_, resource) => resource !== "leases"));
  expect(saying(report, "Operator permissions")).toContain('leases.coordination.k8s.io in "elections"');
});

test.each([
  ["an hour fast", -3_600_000, 0, "good"],
  ["an hour slow", 3_600_000, 0, "good"],
  ["an hour slow", 3_600_000, 60_000, "wrong"],
])("a clock of this machine that is %s does not judge the Lease", async (_, aheadMs, ageMs, verdict) => {
  const served = world.clock.now() + aheadMs;
  await world.person.mergePatch(Lease, system("coder-k8s-controller.coder.com"), {
    spec: { renewTime: timestamp(served - ageMs) },
  });
  const allowing = authorizing(() => true);
  const send: Transport["send"] = async (request) => {
    const response = await allowing.send(request);
    return { ...response, headers: { ...response.headers, date: new Date(served).toUTCString() } };
  };
  const report = await checked({ ...allowing, send });
  expect(verdicts(report)).toMatchObject({ "Operator leads": verdict });
});

test("CRDs of another version than the operator, or missing, are wrong", async () => {
  const name = "coderprovisioners.coder.com";
  const old = { metadata: { labels: { "app.kubernetes.io/version": "1.0.0" } } };
  await world.person.mergePatch(CustomResourceDefinition, { name }, old);
  expect(saying(await checked(authorizing(() => true)), "CRDs")).toContain(
    "of version 1.0.0; the operator is of version 1.2.0",
  );
  await world.person.delete(CustomResourceDefinition, { name });
  expect(saying(await checked(authorizing(() => true)), "CRDs")).toContain(`${name} missing`);
});

test("deprecated fields, deletions that hang and what would hang are named", async () => {
  const finalizers = ["coder.com/provisioner-key-cleanup"];
  const spec = {
    controlPlaneRef: { name: "coder" },
    volumes: [{ name: "old", cephfs: { monitors: ["m"] } }],
  };
  await world.person.create(kinds.CoderProvisioner, {
    metadata: { namespace: "dev", name: "linux", finalizers },
    spec,
  });
  await world.person.create(kinds.CoderControlPlane, { metadata: { namespace: "dev", name: "coder" } });
  const before = await checked(authorizing(() => true));
  expect(before.code).toBe(0);
  expect(saying(before, "No deprecations")).toBe(
    "dev/provisioner/linux has a volume of kind cephfs: use a CSI driver.",
  );
  expect(saying(before, "Uninstalling")).toContain(
    "the deletion of 1 objects would hang: dev/provisioner/linux",
  );
  await world.person.delete(kinds.CoderProvisioner, { namespace: "dev", name: "linux" });
  world.clock.jump(3_000);
  const early = await checked(authorizing(() => true));
  expect(early.findings).toContainEqual({
    what: "Finalizers",
    verdict: "note",
    message: "The deletion of dev/provisioner/linux is in progress; it counts as stuck after 5 minutes.",
  });
  world.clock.jump(6 * 60_000);
  await world.person.mergePatch(Lease, system("coder-k8s-controller.coder.com"), {
    spec: { renewTime: timestamp(world.clock.now()) },
  });
  const after = await checked(authorizing(() => true));
  expect(after.code).toBe(3);
  expect(saying(after, "Finalizers")).toContain("The deletion of dev/provisioner/linux is stuck");
});

test("pods without what Coder's chart gives them are named, with the fields to set", async () => {
  const spec = { resources: { requests: { cpu: "1" } }, presets: { securityContext: true } };
  await world.person.create(kinds.CoderControlPlane, { metadata: { namespace: "dev", name: "good" }, spec });
  expect(saying(await checked(authorizing(() => true)), "Pods of Coder")).toBe(
    "All pods have resources and a security context.",
  );
  await world.person.create(kinds.CoderControlPlane, { metadata: { namespace: "dev", name: "bare" } });
  const { code, findings } = await checked(authorizing(() => true));
  expect(code).toBe(0);
  expect(findings).toContainEqual({
    what: "Pods of Coder",
    verdict: "note",
    message:
      "dev/controlplane/bare has no resources and no security context: set spec.resources and spec.presets.securityContext.",
  });
});

test("a user who may read one namespace gets the results for that, and a line for the others", async () => {
  const own = ({ path }: TransportRequest) => path.includes("/namespaces/dev/");
  const { code, findings, gaps } = await checked(limited(world.api, own), "-n", "dev");
  expect(code).toBe(0);
  expect(findings.map(({ what, verdict }) => `${what}: ${verdict}`)).toEqual([
    "Operator installed: unknown",
    "CRDs: unknown",
    "No complaints: good",
    "No deprecations: good",
    "Pods of Coder: good",
    "Finalizers: good",
    "Uninstalling: good",
  ]);
  expect(gaps).toEqual([
    "You may not list deployments in all namespaces; set the operator's with --operator-namespace.",
    "You may not get customresourcedefinitions.",
  ]);
});

test("a person who may read nothing is not reassured, and gets exit code 1", async () => {
  const { code, findings } = await checked(limited(world.api, () => false));
  expect(code).toBe(1);
  expect(new Set(findings.map(({ verdict }) => verdict))).toEqual(new Set(["unknown"]));
});

test("policies that separate replicas are named, also if they admit other namespaces", async () => {
  const NetworkPolicy = kind<KubeObject & { spec: object }>("networking.k8s.io/v1", {
    kind: "NetworkPolicy",
    plural: "networkpolicies",
  });
  world.api.install(NetworkPolicy);
  await world.person.create(Namespace, { metadata: { name: "default" } });
  await world.person.create(kinds.CoderControlPlane, {
    metadata: { namespace: "default", name: "coder" },
    spec: { image: "ghcr.io/coder/coder:v2.36.1", replicas: 2 },
  });
  expect(verdicts(await checked(authorizing(() => true)))).not.toHaveProperty("Replicas");
  await world.person.create(NetworkPolicy, {
    metadata: { namespace: "default", name: "monitoring" },
    spec: {
      podSelector: {},
      policyTypes: ["Ingress"],
      ingress: [{ from: [{ namespaceSelector: { matchLabels: { team: "monitoring" } } }] }],
    },
  });
  const report = await checked(authorizing(() => true));
  expect(verdicts(report)).toMatchObject({ Replicas: "note" });
  expect(saying(report, "Replicas")).toContain("default/controlplane/coder on port 8080 and 6222");
  expect(report.code).toBe(0);
  const labels = { team: "monitoring" };
  await world.person.mergePatch(Namespace, { name: "default" }, { metadata: { labels } });
  expect(verdicts(await checked(authorizing(() => true)))).not.toHaveProperty("Replicas");
});
