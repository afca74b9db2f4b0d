import type { Deployment } from "kube-controller-runtime";
import { expect, test } from "vitest";
import { isOnlyOneInUse, isRolledOutWith } from "./deployment.ts";

const key = { place: { name: "pool-key", key: "key" }, checksum: "aa" };

interface Parts {
  readonly checksum?: string;
  readonly secret?: { name: string; key: string };
  readonly status?: Deployment["status"] & object;
}

const done = { observedGeneration: 3, replicas: 2, updatedReplicas: 2, availableReplicas: 2 };

function deployment({ checksum = "aa", secret = key.place, status = done }: Parts = {}): Deployment {
  const env = [{ name: "CODER_PROVISIONER_DAEMON_KEY", valueFrom: { secretKeyRef: secret } }];
  return {
    metadata: { generation: 3 },
    spec: {
      replicas: 2,
      selector: {},
      template: {
        metadata: { annotations: { "checksum/provisioner-key": checksum } },
        spec: { containers: [{ name: "provisioner", env }] },
      },
    },
    status,
  };
}

test("all pods run with the key when the rollout of its template is complete", () => {
  expect(isRolledOutWith(key, deployment())).toBe(true);
});

test.each<[string, Deployment | undefined]>([
  ["there is no Deployment", undefined],
  ["the template has another key", deployment({ checksum: "bb" })],
  ["the template reads another Secret", deployment({ secret: { name: "old-key", key: "key" } })],
  ["the template reads another data key", deployment({ secret: { name: "pool-key", key: "old" } })],
  ["the rollout has not been noticed yet", deployment({ status: { ...done, observedGeneration: 2 } })],
  ["not all pods are of this template", deployment({ status: { ...done, updatedReplicas: 1 } })],
  ["an old pod is still there", deployment({ status: { ...done, replicas: 3 } })],
  ["a new pod is not available yet", deployment({ status: { ...done, availableReplicas: 1 } })],
  ["nothing is known of it yet", deployment({ status: {} })],
])("not yet: %s", (_, candidate) => {
  expect(isRolledOutWith(key, candidate)).toBe(false);
});

test("no other key is in use without a pod of another template, even if pods are missing", () => {
  expect(isOnlyOneInUse(key, deployment())).toBe(true);
  expect(isOnlyOneInUse(key, deployment({ status: { ...done, availableReplicas: 0 } }))).toBe(true);
  expect(
    isOnlyOneInUse(key, deployment({ status: { observedGeneration: 3, replicas: 1, updatedReplicas: 1 } })),
  ).toBe(true);
});

test.each<[string, Deployment | undefined]>([
  ["there is no Deployment", undefined],
  ["the template has another key", deployment({ checksum: "bb" })],
  ["the rollout has not been noticed yet", deployment({ status: { ...done, observedGeneration: 2 } })],
  ["an old pod is still there", deployment({ status: { ...done, replicas: 3 } })],
])("another key may be in use: %s", (_, candidate) => {
  expect(isOnlyOneInUse(key, candidate)).toBe(false);
});
