import { beforeAll, describe, expect, test } from "vitest";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { type Block, blocks } from "../pages.ts";
import { readerOf } from "../reader.ts";

/** What the pages take to be there. */
const present = [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: "coder" } },
  coder("CoderControlPlane", "coder", {}),
  coder("CoderProvisioner", "general", { controlPlaneRef: { name: "coder" } }),
  coder("CoderProvisioner", "gpu", { controlPlaneRef: { name: "coder" } }),
  coder("CoderWorkspaceProxy", "sydney", { controlPlaneRef: { name: "coder" } }),
];

function coder(kind: string, name: string, spec: object) {
  return { apiVersion: "coder.com/v1alpha1", kind, metadata: { name, namespace: "coder" }, spec };
}

/** test/integration/chart/guide.test.ts runs these for real, in a cluster of their own. */
const runForReal = (page: string, language: string) =>
  ["docs/install.md", "docs/tutorials/from-zero.md"].includes(page) && language === "sh";

const commands = blocks.filter(
  ({ page, language }) => ["sh", "console"].includes(language) && !runForReal(page, language),
);

async function complaintsAbout(block: Block): Promise<string> {
  await using reader = await readerOf(sharedCluster());
  return await reader.types(block);
}

describe.concurrent("commands in the documentation work unchanged", () => {
  beforeAll(() => sharedCluster().apply({ apiVersion: "v1", kind: "List", items: present }));

  test.each(commands)("$page:$line", async (block) => {
    expect(await complaintsAbout(block)).toBe("");
  });
});

describe.concurrent("a command is complained of", () => {
  test.each([
    ["that no stand-in plays", "flux check"],
    ["of kubectl that is not supported", "kubectl drain node"],
    ["with a resource that does not exist", "kubectl get coderplanes"],
    [
      "that waits for what does not exist",
      "kubectl wait coderplane/coder --for=condition=Ready --timeout=10m",
    ],
    ["with a flag that does not exist", "kubectl logs --tale=5 pod"],
    ["of a make target that does not exist", "make coffee"],
    ["with a value that the chart does not have", "helm install x charts/coder-k8s --set replica=3"],
    ["even at the beginning of a pipe", "kubectl get coderplanes | cat"],
  ])("%s", async (_case, text) => {
    expect(await complaintsAbout({ page: "", line: 1, language: "sh", text })).not.toBe("");
  });
});
