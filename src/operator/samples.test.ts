import { readdirSync, readFileSync } from "node:fs";
import type { KubeObject, Stored } from "kube-controller-runtime";
import { stored } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import { parse, stringify } from "yaml";
import {
  controlPlaneChildren,
  provisionerChildren,
  workspaceProxyChildren,
} from "../../test/support/children.ts";

const samples = "config/samples";

const childrenOf: Record<string, (object: Stored<KubeObject>) => KubeObject[]> = {
  CoderControlPlane: controlPlaneChildren,
  CoderProvisioner: provisionerChildren,
  CoderWorkspaceProxy: workspaceProxyChildren,
};

/** Kinds that describe objects in coderd have no children. */
const withChildren = readdirSync(samples).filter((file) => !/^(organization|group)-/.test(file));

test.each(withChildren)("children of the sample %s are those that were reviewed", async (file) => {
  const sample: KubeObject = parse(readFileSync(`${samples}/${file}`, "utf8"));
  const children = childrenOf[sample.kind ?? ""]?.(stored(sample)) ?? [];
  const documents = children.map((child) => stringify(child, { aliasDuplicateObjects: false }));
  expect(children).not.toHaveLength(0);
  await expect(documents.join("---\n")).toMatchFileSnapshot(`__snapshots__/children/${file}`);
});
