import type { PolicyRule } from "kube-controller-runtime";
import { describe, expect, it } from "vitest";
import { permissions } from "./inputs.ts";
import { byResource, mergedRules } from "./rbac.ts";

const declared: readonly PolicyRule[] = [
  { resources: ["services", "deployments.apps"], verbs: ["patch", "get"], because: "runs" },
  { resources: ["pods"], verbs: ["get", "patch"], because: "looks" },
  { resources: ["deployments.apps"], verbs: ["get", "delete"], because: "cleans up" },
  { resources: ["things.example.com/status"], verbs: ["patch"], because: "reports" },
];

describe("mergedRules", () => {
  it("unites the verbs of a resource and the resources of equal verbs, in a fixed order", () => {
    expect(mergedRules(declared)).toEqual([
      { apiGroups: [""], resources: ["pods", "services"], verbs: ["get", "patch"] },
      { apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "patch", "delete"] },
      { apiGroups: ["example.com"], resources: ["things/status"], verbs: ["patch"] },
    ]);
  });

  it("does not depend on the order of the declarations", () => {
    expect(mergedRules(declared.toReversed())).toEqual(mergedRules(declared));
  });
});

it("collects why a permission is needed", () => {
  expect(byResource(declared).find(({ group }) => group === "apps")?.reasons).toEqual(["runs", "cleans up"]);
});

describe("the operator's own permissions", () => {
  const verbsOf = (wanted: string) =>
    byResource(permissions).find(({ group, resource }) => `${resource}.${group}` === wanted)?.verbs;

  it.each(["pods.", "persistentvolumeclaims.", "deployments.apps"])(
    "hold on %s every verb that the roles of workspaces grant",
    (resource) => {
      const granted = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
      expect(verbsOf(resource)).toEqual(granted);
    },
  );

  it("contain no wildcard and no way to grant more than is held", () => {
    const words = byResource(permissions).flatMap(({ group, resource, verbs }) => [
      group,
      resource,
      ...verbs,
    ]);
    for (const word of ["*", "escalate", "bind", "impersonate"]) expect(words).not.toContain(word);
  });
});
