import { describe, expect, it } from "vitest";
import { openTenancy, refusal, type Tenancy } from "./tenancy.ts";

const cases: [string, Tenancy, string | undefined][] = [
  ["team-a", openTenancy, undefined],
  ["kube-system", openTenancy, "belongs to Kubernetes"],
  ["kube-public", openTenancy, "belongs to Kubernetes"],
  ["kube-node-lease", openTenancy, "belongs to Kubernetes"],
  [
    "coder-system",
    { operatorNamespace: "coder-system", workspaceNamespaces: [] },
    "namespace of the operator",
  ],
  [
    "coder-system",
    { operatorNamespace: "coder-system", workspaceNamespaces: ["coder-system"] },
    "of the operator",
  ],
  ["kube-system", { workspaceNamespaces: ["kube-system"] }, "belongs to Kubernetes"],
  ["team-a", { workspaceNamespaces: ["team-a"] }, undefined],
  ["team-b", { workspaceNamespaces: ["team-a"] }, "--workspace-namespaces"],
];

describe("a namespace for workspaces", () => {
  it.each(cases)("%s is judged by %j", (namespace, tenancy, because) => {
    const judged = refusal(namespace, tenancy);
    if (because === undefined) expect(judged).toBeUndefined();
    else expect(judged).toContain(because);
  });
});
