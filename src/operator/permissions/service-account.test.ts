import { stored } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import type { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import type { ServiceAccountSpec } from "../../api/v1alpha1/permissions.ts";
import { withDefaults } from "../control-plane/spec.ts";
import { serviceAccountPlan } from "./ensure-service-account.ts";

const plan = (serviceAccount: ServiceAccountSpec = {}) =>
  serviceAccountPlan(withDefaults(stored<CoderControlPlane>({ spec: { serviceAccount } })));

const labels = {
  "app.kubernetes.io/name": "coder-control-plane",
  "app.kubernetes.io/instance": "coder",
  "app.kubernetes.io/managed-by": "coder-k8s",
};

test("it is named after the control plane", () => {
  expect(plan()).toEqual({
    do: "apply",
    serviceAccount: {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "coder", namespace: "dev", labels },
    },
  });
});

test("it takes name, labels and annotations from the spec, but our labels stay ours", () => {
  const spec = {
    name: "runner",
    labels: { team: "platform", "app.kubernetes.io/managed-by": "somebody" },
    annotations: { "example.com/identity": "coder" },
  };
  expect(plan(spec)).toEqual({
    do: "apply",
    serviceAccount: {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: {
        name: "runner",
        namespace: "dev",
        labels: { team: "platform", ...labels },
        annotations: { "example.com/identity": "coder" },
      },
    },
  });
});

test("one that the user brings is released, not made and not removed", () => {
  expect(plan({ name: "mine", disableCreate: true })).toEqual({ do: "release", name: "mine" });
  expect(plan({ disableCreate: true })).toEqual({ do: "release", name: "coder" });
});
