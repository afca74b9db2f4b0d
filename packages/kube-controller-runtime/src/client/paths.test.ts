import { expect, test } from "vitest";
import { ConfigMap, CustomResourceDefinition, Deployment } from "../kinds.ts";
import { collectionPath, objectPath, queryString } from "./paths.ts";

test.each([
  [collectionPath(ConfigMap), "/api/v1/configmaps"],
  [collectionPath(ConfigMap, "n"), "/api/v1/namespaces/n/configmaps"],
  [collectionPath(Deployment, "n"), "/apis/apps/v1/namespaces/n/deployments"],
  [collectionPath(CustomResourceDefinition, "n"), "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"],
  [objectPath(Deployment, { namespace: "n", name: "a" }), "/apis/apps/v1/namespaces/n/deployments/a"],
  [
    objectPath(Deployment, { namespace: "n", name: "a" }, "status"),
    "/apis/apps/v1/namespaces/n/deployments/a/status",
  ],
  [
    objectPath(CustomResourceDefinition, { name: "a.b" }),
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/a.b",
  ],
])("%s is the path of its resource", (path, expected) => {
  expect(path).toBe(expected);
});

test("a name cannot lead to another resource", () => {
  const ref = { namespace: "n/../m", name: "a/status?force=true" };
  expect(objectPath(ConfigMap, ref)).toBe(
    "/api/v1/namespaces/n%2F..%2Fm/configmaps/a%2Fstatus%3Fforce%3Dtrue",
  );
});

test("an object of a namespaced kind has no path without a namespace", () => {
  expect(() => objectPath(ConfigMap, { name: "a" })).toThrow('ConfigMap "a" needs a namespace');
});

test("a query contains the encoded parameters that are set", () => {
  expect(queryString({ a: "x,y in (z)", b: 1, c: true, d: undefined, e: "" })).toBe(
    "?a=x%2Cy+in+%28z%29&b=1&c=true",
  );
  expect(queryString({ a: undefined })).toBe("");
});
