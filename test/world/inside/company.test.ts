import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { ControlPlaneSpec } from "../../../src/api/v1alpha1/control-plane.ts";
import { CoderControlPlane, CoderGroup, CoderOrganization } from "../../../src/api/v1alpha1/kinds.ts";
import { openInsideStage } from "../../support/stages/inside.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: object;
}

const manifests = globSync("examples/company/*.yaml").flatMap((file) =>
  parseAllDocuments(readFileSync(file, "utf8")).map((document) => document.toJS() as Manifest),
);
const all = (kind: string) => manifests.filter((manifest) => manifest.kind === kind);

test("in examples/company, everything that a mapping names exists", async () => {
  await using stage = await openInsideStage(new MemoryWorld(), "company");
  const [company] = all(CoderControlPlane.kind).map(({ spec }) => spec as ControlPlaneSpec);
  const { organizationSync } = company ?? {};
  expect(organizationSync).toBeDefined();
  const { deployment } = await stage.controlPlane("coder", { organizationSync });
  for (const { metadata, spec } of all(CoderGroup.kind)) await stage.group(metadata.name, "coder", spec);
  for (const { metadata, spec } of all(CoderOrganization.kind))
    await stage.organization(metadata.name, "coder", spec);
  for (const kind of [CoderGroup, CoderOrganization])
    for (const { metadata } of all(kind.kind)) await stage.untilReady(metadata.name, kind);
  const { id } = deployment.organizations.find(({ name }) => name === "research") ?? { id: "" };
  await stage.eventually(() =>
    expect(deployment.inside.organizationSync).toMatchObject({
      mapping: { "coder-engineers": [id], "coder-scientists": [id] },
    }),
  );
});
