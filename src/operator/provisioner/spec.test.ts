import { stored } from "kube-controller-runtime/testing";
import { describe, expect, test } from "vitest";
import { podOfEmptySpec } from "../../../lab/builders.ts";
import type { CoderProvisioner } from "../../api/v1alpha1/kinds.ts";
import type { ProvisionerSpec } from "../../api/v1alpha1/provisioner.ts";
import { continuing, withDefaults } from "./spec.ts";

const a = (count: number) => "a".repeat(count);

function fromSpec(spec?: Partial<ProvisionerSpec>, name = "pool") {
  const object = spec ? { spec: { controlPlaneRef: { name: "coder" }, ...spec } } : {};
  return withDefaults(stored<CoderProvisioner>(object, { name }));
}

test("a provisioner that names only its control plane", () => {
  expect(fromSpec({})).toStrictEqual({
    app: "coder-provisioner",
    identity: { name: "pool", namespace: "dev", uid: "5f8e" },
    labels: {},
    childName: "provisioner-pool",
    serviceAccount: { name: "pool-provisioner", managed: true, labels: {}, annotations: {} },
    workspaceAccess: { namespaces: ["dev"], deployments: true, extraRules: [] },
    controlPlaneName: "coder",
    session: undefined,
    organizationName: "default",
    key: { name: "pool", nameIsFixed: false, secret: { name: "pool-provisioner-key", key: "key" } },
    tags: {},
    image: undefined,
    replicas: 1,
    autoscaling: undefined,
    pod: { ...podOfEmptySpec, terminationGracePeriodSeconds: 600, readinessProbe: undefined },
  });
});

test("one without a spec, as the API server may have it, differs only in its control plane", () => {
  expect(fromSpec()).toStrictEqual({ ...fromSpec({}), controlPlaneName: undefined });
});

test("blanks count as absent", () => {
  const blank = {
    image: " ",
    organizationName: " ",
    key: { name: " ", secretName: " ", secretKey: " " },
    bootstrap: { credentialsSecretRef: { name: " " } },
  };
  expect(fromSpec(blank)).toStrictEqual(fromSpec({}));
});

test("what the spec says, trimmed", () => {
  const spec = {
    controlPlaneRef: { name: " production " },
    image: " registry.example.com/coder:v2 ",
    organizationName: " research ",
    key: { name: " GPU-Pool ", secretName: " mine ", secretKey: " value " },
    bootstrap: { credentialsSecretRef: { name: " admin " } },
    tags: { region: "eu-west" },
    replicas: 0,
    terminationGracePeriodSeconds: 0,
  };
  expect(fromSpec(spec)).toMatchObject({
    controlPlaneName: "production",
    image: "registry.example.com/coder:v2",
    organizationName: "research",
    key: { name: "gpu-pool", nameIsFixed: true, secret: { name: "mine", key: "value" } },
    session: { name: "admin", key: "token" },
    tags: { region: "eu-west" },
    replicas: 0,
    pod: { terminationGracePeriodSeconds: 0 },
  });
});

test("probes are disabled by default", () => {
  expect(fromSpec({ readinessProbe: { periodSeconds: 5 } }).pod.readinessProbe).toBeUndefined();
  expect(fromSpec({ readinessProbe: { enabled: true } }).pod.readinessProbe).toMatchObject({
    periodSeconds: 10,
  });
});

describe("names", () => {
  test.each([
    [51, `provisioner-${a(51)}`, `${a(51)}-provisioner`],
    [52, `provisioner-${a(42)}-4f28a429`, `${a(42)}-4f28a429-provisioner`],
    [63, `provisioner-${a(42)}-2469b9e6`, `${a(42)}-2469b9e6-provisioner`],
    [128, `provisioner-${a(42)}-93ca4045`, `${a(42)}-93ca4045-provisioner`],
    [253, `provisioner-${a(42)}-df1f7590`, `${a(42)}-df1f7590-provisioner`],
  ])("of the children of a provisioner with %i characters", (length, childName, account) => {
    expect(fromSpec({}, a(length))).toMatchObject({ childName, serviceAccount: { name: account } });
  });

  test.each([
    [64, a(64)],
    [65, `${a(55)}-2dd603ec`],
    [253, `${a(55)}-df1f7590`],
  ])("of the key, when the provisioner's has %i characters, fit coderd", (length, expected) => {
    expect(fromSpec({}, a(length)).key.name).toBe(expected);
    expect(expected.length).toBeLessThanOrEqual(64);
  });

  test.each([
    [237, `${a(237)}-provisioner-key`],
    [238, `${a(228)}-6f912a93-provisioner-key`],
  ])("of the key's Secret, when the provisioner's has %i characters", (length, expected) => {
    expect(fromSpec({}, a(length)).key.secret.name).toBe(expected);
    expect(expected.length).toBeLessThanOrEqual(253);
  });

  test("of provisioners that differ only past the cut stay apart", () => {
    const [one, other] = [fromSpec({}, `${a(100)}1`), fromSpec({}, `${a(100)}2`)];
    expect(one.childName).not.toBe(other.childName);
    expect(one.serviceAccount.name).not.toBe(other.serviceAccount.name);
    expect(one.key.name).not.toBe(other.key.name);
  });

  test("of a key that coderd keeps for itself are avoided, unless the user insists", () => {
    expect(fromSpec({}, "psk").key.name).toBe("psk-7478bb6d");
    expect(fromSpec({ key: { name: "psk" } }).key.name).toBe("psk");
  });
});

describe("where the number follows the queue, there are", () => {
  const autoscaling = { minReplicas: 2, maxReplicas: 5 };
  const withStatus = (spec: Partial<ProvisionerSpec>, desiredReplicas?: number) =>
    withDefaults(
      stored<CoderProvisioner>({
        spec: { controlPlaneRef: { name: "coder" }, ...spec },
        ...(desiredReplicas === undefined ? {} : { status: { desiredReplicas } }),
      }),
    ).replicas;

  test.each<[string, Partial<ProvisionerSpec>, number | undefined, number]>([
    ["as many daemons as were asked for last", { autoscaling }, 4, 4],
    ["none when none were asked for", { autoscaling }, 0, 0],
    ["at least the minimum to begin with", { autoscaling }, undefined, 2],
    ["at most the maximum to begin with", { autoscaling, replicas: 9 }, undefined, 5],
    ["as many as the spec says once it no longer does", { replicas: 3 }, 4, 3],
  ])("%s", (_, spec, desired, expected) => {
    expect(withStatus(spec, desired)).toBe(expected);
  });

  test.each<[string, { running?: number; asked?: number; of?: number }, number]>([
    ["as many as run when it begins to follow, also above the maximum", { running: 9 }, 9],
    ["at least the minimum when it begins to follow", { running: 1 }, 2],
    ["as many as were asked for last, whatever runs", { running: 9, asked: 4, of: 3 }, 4],
    ["as many as run when what was asked for was for an earlier spec", { running: 9, asked: 4, of: 1 }, 9],
    ["at least the minimum when none run yet", {}, 2],
  ])("%s", (_, { running, asked: desiredReplicas, of: observedGeneration }, expected) => {
    const active = { type: "ScalingActive", status: "True", reason: "FollowingQueue", message: "" } as const;
    const conditions = [{ ...active, lastTransitionTime: "2026-01-01T00:00:00Z", observedGeneration }];
    const object = stored<CoderProvisioner>({
      metadata: { name: "pool", generation: 3 },
      spec: { controlPlaneRef: { name: "coder" }, autoscaling },
      status: desiredReplicas === undefined ? {} : { desiredReplicas, conditions },
    } as Partial<CoderProvisioner>);
    expect(continuing(withDefaults(object), object, running).replicas).toBe(expected);
  });
});
