import { globSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  type ConditionRow,
  controlPlaneConditions,
  entityConditions,
  provisionerConditions,
  workspaceProxyConditions,
} from "../../src/operator/conditions.ts";
import { repository } from "./pages.ts";

const page = readFileSync(`${repository}docs/reference/conditions.md`, "utf8");

/** The words in the first column of the tables under headings that begin so. */
function explained(heading: string): string[] {
  const sections = page.split(/^##+ /m).filter((section) => section.startsWith(heading));
  return sections.flatMap((section) =>
    [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, word = ""]) => word),
  );
}

const folders = ["src/operator/**/*.ts", "packages/kube-controller-runtime/src/reconcile/*.ts"];
const sources = globSync(folders, { cwd: repository }).filter((path) => !path.endsWith(".test.ts"));

/** CamelCase words in quotes: reasons, and the few other things below. */
const words = new Set(
  sources.flatMap((path) =>
    [...readFileSync(repository + path, "utf8").matchAll(/"([A-Z][a-z]+[A-Za-z]*)"/g)].map(
      ([, word = ""]) => word,
    ),
  ),
);

/** Quoted words that are not reasons: those of Kubernetes, and names of errors. */
const others = new Set([
  ..."True False Unknown Normal Warning Opaque Prefix PathPrefix ExternalName".split(" "),
  ..."PodDisruptionBudget RollingUpdate RuntimeDefault".split(" "),
  // Values of spec.restartOn.
  ..."Certificates All None".split(" "),
  ..."Pod Secret ConfigMap Service ServiceAccount Deployment Ingress Role RoleBinding HTTPRoute Gateway ListenerSet RequestRedirect".split(
    " ",
  ),
  ..."CoderControlPlane CoderProvisioner CoderWorkspaceProxy".split(" "),
  // Policies of what describes an entity in coderd, and the end of reasons for names that it lacks.
  ..."Manage Observe Retain Delete Missing".split(" "),
  // Strategies of an upgrade, and what its backup is made by.
  ..."Safe Rolling Backup Cluster Complete".split(" "),
  // How far an announcement is.
  ..."Announcing Announced Skipped".split(" "),
  // How far the first admin is.
  ..."Creating".split(" "),
  ..."SchemaOutdatedError KeyStoreError".split(" "),
  // How the pod that checks an image runs.
  ..."Never FallbackToLogsOnError".split(" "),
  // What kubelets, the scheduler and the controller of Deployments say about pods.
  ..."PodScheduled Unschedulable Succeeded Failed Progressing ReplicaFailure NewReplicaSetAvailable".split(
    " ",
  ),
  ..."ErrImagePull ImagePullBackOff InvalidImageName ErrImageNeverPull RegistryUnavailable".split(" "),
  ..."CreateContainerConfigError CreateContainerError RunContainerError".split(" "),
  ..."ReadinessGatesNotReady FailedMount FailedAttachVolume FailedMapVolume".split(" "),
  ..."FailedCreatePodSandBox NetworkNotReady ProbeError".split(" "),
]);

const tables = [controlPlaneConditions, provisionerConditions, workspaceProxyConditions, entityConditions];
const rows = tables.map((table) => Object.values<ConditionRow>(table));
const types = rows.map((table) => table.map(({ type }) => type));

describe("the page of conditions and reasons", () => {
  test.each([
    ["CoderControlPlane", types[0]],
    ["CoderProvisioner", types[1]],
    ["CoderWorkspaceProxy", types[2]],
    ["CoderOrganization and CoderGroup", types[3]],
  ])("has the conditions of %s, in the order in which they come", (kind, conditions) => {
    expect(explained(kind)).toEqual(conditions);
  });

  test.each(rows)("has what `Ready` sums up before `Ready`", (...table) => {
    const summed = table.findLastIndex(({ inReady }) => inReady);
    expect(summed).toBeLessThan(table.findIndex(({ type }) => type === "Ready"));
  });

  test("explains every reason that the operator gives", () => {
    const known = new Set([...explained("Reasons"), ...explained("Events"), ...types.flat()]);
    const missing = [...words].filter((word) => !known.has(word) && !others.has(word));
    expect(missing).toEqual([]);
  });

  test("explains no reason that the operator does not give", () => {
    expect([...explained("Reasons"), ...explained("Events")].filter((word) => !words.has(word))).toEqual([]);
  });

  test("explains each reason once", () => {
    const reasons = explained("Reasons");
    expect(reasons).toEqual([...new Set(reasons)]);
  });
});

test.each(["operator-access", "licenses", "provisioners", "workspace-proxies"])(
  "the page %s has no reason in its tables that the operator does not give",
  (name) => {
    const rows = readFileSync(`${repository}docs/${name}.md`, "utf8").match(/^\|.*$/gm) ?? [];
    const named = rows.flatMap((row) =>
      [...row.matchAll(/`([A-Z][a-z]+[A-Za-z]*)`/g)].map(([, word = ""]) => word),
    );
    expect(named.filter((word) => !words.has(word) && !others.has(word))).toEqual([]);
  },
);
