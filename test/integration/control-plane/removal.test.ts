import { Deployment, Ingress, Role, RoleBinding, ServiceAccount } from "kube-controller-runtime";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ControlPlaneSpec } from "../../../src/api/v1alpha1/control-plane.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { essenceOfChildren } from "../../support/dump.ts";
import { openStage, type Stage } from "./stage.ts";

const host = "coder.example.com";

/** All that a spec may say beyond its defaults and that ends up in a child which is there anyway. */
const everything: ControlPlaneSpec = {
  replicas: 2,
  extraArgs: ["--verbose"],
  extraEnv: [{ name: "COLOR", value: "blue" }],
  envFrom: [{ configMapRef: { name: "theme" } }],
  imagePullSecrets: [{ name: "registry" }],
  resources: { limits: { memory: "1Gi" } },
  securityContext: { runAsNonRoot: true },
  podSecurityContext: { fsGroup: 1000 },
  nodeSelector: { disk: "ssd" },
  tolerations: [{ key: "dedicated", operator: "Exists" }],
  affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
  topologySpreadConstraints: [{ maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway" }],
  volumes: [{ name: "cache", emptyDir: {} }],
  volumeMounts: [{ name: "cache", mountPath: "/cache" }],
  livenessProbe: { enabled: true },
  readinessProbe: { enabled: true, periodSeconds: 3 },
  tls: { secretNames: ["web"] },
  certs: { secrets: [{ name: "company", key: "ca.crt" }] },
  service: {
    type: "LoadBalancer",
    port: 443,
    annotations: { "example.com/pool": "a" },
    externalTrafficPolicy: "Local",
    loadBalancerSourceRanges: ["203.0.113.0/24"],
    sessionAffinity: "ClientIP",
    httpNodePort: 30_182,
  },
  annotations: { "example.com/owner": "platform" },
  labels: { team: "platform" },
  podAnnotations: { "example.com/scrape": "true" },
  podLabels: { tier: "web" },
  command: ["/usr/bin/coder"],
  imagePullPolicy: "IfNotPresent",
  initContainers: [{ name: "wait", image: "busybox" }],
  lifecycle: { preStop: { exec: { command: ["true"] } } },
  minReadySeconds: 5,
  podDisruptionBudget: { minAvailable: 1 },
  presets: { antiAffinity: true, securityContext: true },
  priorityClassName: "system-cluster-critical",
  strategy: { type: "Recreate" },
  terminationGracePeriodSeconds: 60,
  serviceAccount: { labels: { team: "platform" }, annotations: { "example.com/role": "coder" } },
  rbac: { extraRules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }] },
};

let stage: Stage;
beforeAll(async () => {
  stage = await openStage(sharedCluster(), "removal");
});
afterAll(() => stage[Symbol.asyncDispose]());

const nothing = Object.fromEntries(Object.keys(everything).map((field) => [field, null]));

test("a spec that was emptied has the children of one that was always empty", async () => {
  await stage.create("fresh");
  await stage.create("emptied", everything);
  await stage.settled("fresh");
  await stage.settled("emptied");
  const children = (name: string) => essenceOfChildren(stage.person, stage.ref(name));
  const expected = await children("fresh");
  expect(await children("emptied")).not.toEqual(expected);

  await stage.change("emptied", nothing);
  await stage.settled("emptied");
  expect(await children("emptied")).toEqual(expected);
});

test("an Ingress is deleted with spec.expose, and loses the fields that its spec loses", async () => {
  const ingress = {
    host,
    className: "nginx",
    wildcardHost: `*.${host}`,
    tls: { secretName: "web" },
    annotations: { "example.com/timeout": "60" },
  };
  await stage.create("exposed", { expose: { ingress } });
  await stage.settled("exposed");
  expect((await stage.get(Ingress, "exposed")).spec?.tls).toHaveLength(1);

  const bare = { className: null, wildcardHost: null, tls: null, annotations: null };
  await stage.change("exposed", { expose: { ingress: bare } });
  await stage.settled("exposed");
  const { metadata, spec } = await stage.get(Ingress, "exposed");
  expect(Object.keys(metadata.annotations ?? {})).toEqual(["coder.com/applied-hash"]);
  expect(spec).toEqual({ rules: [expect.objectContaining({ host })] });

  await stage.change("exposed", { expose: null });
  await stage.untilGone(Ingress, "exposed");
  expect((await stage.settled("exposed")).status?.conditions).toContainEqual(
    expect.objectContaining({ type: "ExposureReady", status: "True" }),
  );
});

test("Role and RoleBinding go when workspacePerms is turned off, and come back", async () => {
  await stage.create("perms");
  await stage.settled("perms");
  const [role, binding] = [await stage.child(Role, "perms"), await stage.child(RoleBinding, "perms")];
  await stage.change("perms", { rbac: { workspacePerms: false } });
  await stage.untilGone(Role, role.metadata.name);
  await stage.untilGone(RoleBinding, binding.metadata.name);
  await stage.change("perms", { rbac: { workspacePerms: true } });
  await stage.eventually(() => stage.child(RoleBinding, "perms"));
});

test("a renamed ServiceAccount takes its Role, RoleBinding and pods along and leaves nothing behind", async () => {
  await stage.create("renamed");
  await stage.settled("renamed");
  await stage.change("renamed", { serviceAccount: { name: "robot" } });
  await stage.settled("renamed");
  const hash = /^robot-[0-9a-f]{8}/;
  expect((await stage.child(ServiceAccount, "renamed")).metadata.name).toBe("robot");
  expect((await stage.child(Role, "renamed")).metadata.name).toMatch(hash);
  const binding = await stage.child(RoleBinding, "renamed");
  expect(binding.metadata.name).toMatch(hash);
  expect(binding.subjects).toEqual([expect.objectContaining({ name: "robot" })]);
  expect((await stage.get(Deployment, "renamed")).spec?.template.spec?.serviceAccountName).toBe("robot");
});

test("with disableCreate our ServiceAccount becomes the user's: it is kept without an owner", async () => {
  await stage.create("released");
  await stage.settled("released");
  await stage.change("released", { serviceAccount: { disableCreate: true } });
  await stage.eventually(async () =>
    expect((await stage.get(ServiceAccount, "released")).metadata.ownerReferences ?? []).toEqual([]),
  );
  await stage.untilCondition("released", "ServiceAccountReady", { status: "True", observedGeneration: 2 });
  expect((await stage.get(Deployment, "released")).spec?.template.spec?.serviceAccountName).toBe("released");

  await stage.change("released", { serviceAccount: { disableCreate: false } });
  await stage.eventually(async () =>
    expect((await stage.get(ServiceAccount, "released")).metadata.ownerReferences).toHaveLength(1),
  );
});

test("with disableCreate a ServiceAccount of the user is used and never written", async () => {
  const account = await stage.person.create(ServiceAccount, { metadata: stage.ref("theirs") });
  await stage.create("guest", { serviceAccount: { name: "theirs", disableCreate: true } });
  await stage.settled("guest");
  expect((await stage.get(ServiceAccount, "theirs")).metadata.resourceVersion).toBe(
    account.metadata.resourceVersion,
  );
  expect((await stage.child(RoleBinding, "guest")).subjects).toEqual([
    expect.objectContaining({ name: "theirs" }),
  ]);
  expect(await stage.exists(ServiceAccount, "guest")).toBe(false);
});
