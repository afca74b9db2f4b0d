import { readFileSync } from "node:fs";
import type { Deployment, KubeObject, Stored } from "kube-controller-runtime";
import { stored } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import {
  controlPlaneChildren,
  provisionerChildren,
  workspaceProxyChildren,
} from "../../test/support/children.ts";
import { withoutAdditions } from "./workload/additions.ts";

interface Case {
  readonly title: string;
  readonly object: KubeObject;
  readonly deployment: { readonly spec: { readonly template: object } };
}

/** Objects of the previous version with their Deployments: every sample, and every field of that version. */
const fixture = readFileSync("test/fixtures/previous-version/deployments.jsonl", "utf8");
const cases = fixture
  .trimEnd()
  .split("\n")
  .map((line): Case => JSON.parse(line));

const childrenOf: Record<string, (object: Stored<KubeObject>) => KubeObject[]> = {
  CoderControlPlane: controlPlaneChildren,
  CoderProvisioner: provisionerChildren,
  CoderWorkspaceProxy: workspaceProxyChildren,
};

test.each(cases)("$title keeps the pods that the previous version started", ({ object, deployment }) => {
  const children = childrenOf[object.kind ?? ""]?.(stored(object)) ?? [];
  const [whole] = children.filter(({ kind }) => kind === "Deployment");
  // Additions of this version come only with other changes of the template.
  const now = whole && withoutAdditions(whole as Deployment);
  expect(now).toEqual(deployment);
  // A hash of this text identifies the last applied configuration, so an equal text causes no request.
  expect(JSON.stringify(now)).toBe(JSON.stringify(deployment));
});
