import { stored } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import { snapshotOf } from "../../../test/support/workspace-proxy-snapshot.ts";
import type { CoderWorkspaceProxy } from "../../api/v1alpha1/kinds.ts";
import type { WorkspaceProxySpec } from "../../api/v1alpha1/workspace-proxy.ts";
import { reportHealth } from "./health.ts";

const withSpec = (spec: WorkspaceProxySpec) => snapshotOf(stored<CoderWorkspaceProxy>({ spec }));

const registered = withSpec({ controlPlaneRef: { name: "coder" } });
const seen = (status: string, errors: string[] = []) => ({
  id: "8e0e",
  name: "sydney",
  displayName: "",
  icon: "",
  status,
  errors,
});

test.each([
  ["ok", "True", "Reachable"],
  ["unregistered", "False", "NotReported"],
  ["unreachable", "False", "Unreachable"],
  ["unhealthy", "False", "Unhealthy"],
  ["unknown", "Unknown", "NotChecked"],
])("a proxy that coderd calls %s", async (health, status, reason) => {
  expect(await reportHealth(registered, undefined, seen(health))).toMatchObject({
    status: { health },
    condition: { status, reason },
  });
});

test("what coderd complains of is reported, without secrets and without what differs each time", async () => {
  const errors = [
    "read tcp 10.0.0.1:51234->10.0.0.2:443: reset",
    "token abcdefghij-abcdefghijabcdefghij12 refused",
  ];
  const { condition } = await reportHealth(registered, undefined, seen("unhealthy", errors));
  expect(condition?.message).toContain("read tcp 10.0.0.1->10.0.0.2:443: reset; token [redacted] refused");
});

test.each([
  ["coderd could not be asked", registered, "NotSeen", "unknown"],
  [
    "the token was given",
    withSpec({ proxySessionTokenSecretRef: { name: "mine" } }),
    "NotManaged",
    undefined,
  ],
])("nothing is known when %s, and what was known is withdrawn", async (_case, snapshot, reason, health) => {
  const result = await reportHealth(snapshot, undefined, undefined);
  expect(result.condition).toMatchObject({ status: "Unknown", reason });
  expect(result.status).toHaveProperty("health", health);
});
