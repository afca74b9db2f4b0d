import type { Deployment, Stored } from "kube-controller-runtime";
import { beforeAll, describe, expect, test } from "vitest";
import type { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { controlPlaneChildren } from "../../support/children.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { manifestsIn } from "../manifests.ts";
import { blocks } from "../pages.ts";

const isControlPlane = ({ kind }: { readonly kind?: string }) => kind === "CoderControlPlane";
const shown = blocks
  .filter(({ page, language }) => page === "docs/security.md" && language === "yaml")
  .flatMap(({ text }) => (text.startsWith("apiVersion") ? manifestsIn(text) : []))
  .filter(isControlPlane);

/** The answer of a namespace with the level `restricted` to the pod of a control plane. */
describe("what a page says of Pod Security's level restricted", () => {
  const cluster = sharedCluster();
  let namespace: string;
  beforeAll(async () => {
    namespace = await cluster.createNamespace("restricted");
    const label = "pod-security.kubernetes.io/enforce=restricted";
    expect(await cluster.kubectl(["label", "namespace", namespace, label])).toMatchObject({ code: 0 });
  });

  async function answerTo(spec: object): Promise<{ readonly code: number; readonly stderr: string }> {
    const object = { metadata: { name: "coder", namespace, uid: "u" }, spec } as Stored<CoderControlPlane>;
    const deployment = controlPlaneChildren(object).find(({ kind }) => kind === "Deployment") as Deployment;
    const pod = {
      ...{ apiVersion: "v1", kind: "Pod", metadata: { namespace, name: "coder" } },
      spec: { ...deployment.spec?.template.spec, serviceAccountName: "default" },
    };
    return cluster.kubectl(["create", "--dry-run=server", "-f", "-"], JSON.stringify(pod));
  }

  test("the control plane on the page on security fits it", async () => {
    expect(shown).toHaveLength(1);
    expect(await answerTo(shown[0]?.spec ?? {})).toMatchObject({ code: 0 });
  });

  test("presets.securityContext alone does not, for the capabilities that the pages name", async () => {
    const { stderr } = await answerTo({ presets: { securityContext: true } });
    expect(stderr).toMatch(
      /violates PodSecurity "restricted:latest": unrestricted capabilities \([^)]*\)\s*$/,
    );
  });
});
