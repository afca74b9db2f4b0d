import { expect, it } from "vitest";
import type { Answer } from "./answer.ts";
import { followRedirect } from "./redirect.ts";

const pathPrefix = "/api/v1/namespaces/coder/services/coder:80/proxy";
const way = {
  coderd: new URL("http://coder.coder.svc.cluster.local"),
  destination: { origin: "https://kubernetes.example", pathPrefix, headers: {} },
};
const from = { method: "GET", path: `${pathPrefix}/api/v2/entitlements` } as const;

function follow(location: string) {
  return followRedirect({ status: 302, location } as Answer, from, way);
}

it.each([
  "/api/v1/namespaces/kube-system/secrets",
  "https://kubernetes.example/api/v1/secrets",
  "../../../../../../secrets",
  `${pathPrefix}/%2e%2e/proxy2`,
  `${pathPrefix}-of-another/x`,
])("a redirect to %s does not leave coderd's path at an intermediary", (location) => {
  expect(() => follow(location)).toThrow("outside of its own path, https://kubernetes.example; not followed");
});

it.each([
  [`${pathPrefix}/api/v2/other?a=b`, "/api/v2/other?a=b"],
  ["other", "/api/v2/other"],
  ["http://coder.coder.svc.cluster.local/api/v2/other", "/api/v2/other"],
])("a redirect to %s, at the same coderd, is followed", (location, path) => {
  expect(follow(location)).toEqual({ method: "GET", path: pathPrefix + path });
});
