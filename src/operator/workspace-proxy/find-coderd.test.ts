import { stored } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import { snapshotOf } from "../../../test/support/workspace-proxy-snapshot.ts";
import type { CoderWorkspaceProxy } from "../../api/v1alpha1/kinds.ts";
import type { WorkspaceProxySpec } from "../../api/v1alpha1/workspace-proxy.ts";
import { findCoderd } from "./find-coderd.ts";

/** Without a reference, the cluster is not needed. */
const find = (spec: WorkspaceProxySpec) =>
  findCoderd(snapshotOf(stored<CoderWorkspaceProxy>({ spec })), {
    ports: { clusterDomain: "cluster.local" },
  });

const url = "https://coder.example.com";
const image = "ghcr.io/coder/coder:latest";

test.each<[string, WorkspaceProxySpec]>([
  ["bootstrap", { bootstrap: { coderURL: url, credentialsSecretRef: { name: "owner" } } }],
  ["a given token", { primaryAccessURL: url, proxySessionTokenSecretRef: { name: "mine" } }],
])("the coderd of %s is where the spec says", async (_case, spec) => {
  expect((await find(spec)).value).toEqual({ url, accessURL: url, image });
});

test.each<[string, WorkspaceProxySpec]>([
  ["no credentials", { primaryAccessURL: url }],
  ["a given token without a URL", { proxySessionTokenSecretRef: { name: "mine" } }],
])(
  "an object stored before the validation rules, with %s, gets a condition that says what to set",
  async (_case, spec) => {
    const { condition, value } = await find(spec);
    expect(value).toBeUndefined();
    expect(condition).toMatchObject({ status: "False", reason: "NotConfigured" });
    expect(condition?.message).toContain("spec.controlPlaneRef");
  },
);
