import { stored } from "kube-controller-runtime/testing";
import { describe, expect, test } from "vitest";
import type { CoderProvisioner } from "../../api/v1alpha1/kinds.ts";
import type { ProvisionerSpec } from "../../api/v1alpha1/provisioner.ts";
import { provisionerDeployment } from "./deployment.ts";
import { withDefaults } from "./spec.ts";

const inputs = {
  image: "ghcr.io/coder/coder:v2.36.1",
  coderURL: "http://coder.dev.svc.cluster.local:80",
  key: { name: "pool-provisioner-key", key: "key" },
  keyChecksum: "6a82cc93",
};

function build(spec: Partial<ProvisionerSpec> = {}, name = "pool") {
  const object = { spec: { controlPlaneRef: { name: "coder" }, ...spec } };
  return provisionerDeployment(withDefaults(stored<CoderProvisioner>(object, { name })), inputs);
}

const containerOf = (spec: Partial<ProvisionerSpec>, name?: string) =>
  build(spec, name).spec?.template.spec?.containers[0];

const labels = {
  "app.kubernetes.io/name": "coder-provisioner",
  "app.kubernetes.io/instance": "pool",
  "app.kubernetes.io/managed-by": "coder-k8s",
};

test("an empty spec of a provisioner results in exactly this", () => {
  expect(build()).toStrictEqual({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "provisioner-pool", namespace: "dev", labels },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, annotations: { "checksum/provisioner-key": "6a82cc93" } },
        spec: {
          serviceAccountName: "pool-provisioner",
          terminationGracePeriodSeconds: 600,
          readinessGates: [{ conditionType: "coder.com/daemon-connected" }],
          containers: [
            {
              name: "provisioner",
              terminationMessagePolicy: "FallbackToLogsOnError",
              image: "ghcr.io/coder/coder:v2.36.1",
              command: ["/opt/coder"],
              args: ["provisionerd", "start"],
              env: [
                { name: "CODER_URL", value: "http://coder.dev.svc.cluster.local:80" },
                {
                  name: "CODER_PROVISIONER_DAEMON_KEY",
                  valueFrom: { secretKeyRef: { name: "pool-provisioner-key", key: "key" } },
                },
                {
                  name: "CODER_PROVISIONER_DAEMON_NAME",
                  valueFrom: { fieldRef: { fieldPath: "metadata.name" } },
                },
              ],
            },
          ],
        },
      },
    },
  });
});

test("no organization and no tags reach the daemon: it refuses both beside a key", () => {
  const spec = { organizationName: "research", tags: { region: "eu-west" } };
  expect(build(spec)).toStrictEqual(build());
});

test("the user's arguments and variables follow those of the operator", () => {
  const container = containerOf({ extraArgs: ["--verbose"], extraEnv: [{ name: "A", value: "1" }] });
  expect(container?.args).toEqual(["provisionerd", "start", "--verbose"]);
  expect(container?.env?.at(-1)).toEqual({ name: "A", value: "1" });
});

test("a daemon whose pod's name has a dot is named by the pod's UID: it takes no dot", () => {
  const name = containerOf({}, "team.a")?.env?.find((variable) => variable.name.endsWith("_NAME"));
  expect(name?.valueFrom?.fieldRef?.fieldPath).toBe("metadata.uid");
});

describe("a probe", () => {
  const metricsEnv = [
    { name: "CODER_PROMETHEUS_ENABLE", value: "true" },
    { name: "CODER_PROMETHEUS_ADDRESS", value: "0.0.0.0:2112" },
  ];
  const port = { name: "metrics", containerPort: 2112, protocol: "TCP" };
  const httpGet = { path: "/", port: "metrics", scheme: "HTTP" };

  test.each(["readinessProbe", "livenessProbe"] as const)("%s asks the only thing that answers", (probe) => {
    const container = containerOf({ [probe]: { enabled: true } });
    expect(container?.[probe]?.httpGet).toEqual(httpGet);
    expect(container?.ports).toEqual([port]);
    expect(container?.env).toEqual(expect.arrayContaining(metricsEnv));
  });

  test("that is off opens no port", () => {
    expect(containerOf({})).not.toHaveProperty("ports");
  });
});
