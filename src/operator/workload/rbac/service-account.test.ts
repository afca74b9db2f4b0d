import { stored } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import type { CoderControlPlane } from "../../../api/v1alpha1/kinds.ts";
import type { ServiceAccountSpec } from "../../../api/v1alpha1/permissions.ts";
import { withDefaults } from "../../coderd/settings.ts";
import { serviceAccount } from "./ensure-service-account.ts";

const accountOf = (spec: ServiceAccountSpec = {}) =>
  serviceAccount(withDefaults(stored<CoderControlPlane>({ spec: { serviceAccount: spec } })));

const labels = {
  "app.kubernetes.io/name": "coder-control-plane",
  "app.kubernetes.io/instance": "coder",
  "app.kubernetes.io/managed-by": "coder-k8s",
};

test("it is named after the control plane", () => {
  expect(accountOf()).toEqual({
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "coder", namespace: "dev", labels },
  });
});

test("it has name, labels and annotations of the spec, but keeps the operator's labels", () => {
  const spec = {
    name: "runner",
    labels: { team: "platform", "app.kubernetes.io/managed-by": "another" },
    annotations: { "example.com/identity": "coder" },
  };
  expect(accountOf(spec)).toEqual({
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: {
      name: "runner",
      namespace: "dev",
      labels: { team: "platform", ...labels },
      annotations: { "example.com/identity": "coder" },
    },
  });
});

test("one that the user provides is not created, under its own or the default name", () => {
  expect(accountOf({ name: "mine", disableCreate: true })).toBeUndefined();
  expect(accountOf({ disableCreate: true })).toBeUndefined();
});
