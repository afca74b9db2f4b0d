import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { type Client, Role, RoleBinding } from "kube-controller-runtime";
import { adminClient } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CoderProvisioner } from "../../src/api/v1alpha1/kinds.ts";
import { bundlePlugin } from "../../tools/plugin/bundle.ts";
import { sharedCluster } from "../support/cluster/shared.ts";
import { setUpFixture } from "../support/plugin-fixture.ts";
import { Call, type Shown } from "../support/pseudo-terminal.ts";

const cluster = sharedCluster();
let dir: string;
let namespace: string;
let person: Client;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "coder-k8s-plugin-"));
  [namespace, person] = await Promise.all([
    cluster.createNamespace("plugin"),
    adminClient(cluster),
    bundlePlugin(join(dir, "kubectl-coder")),
  ]);
  await setUpFixture({ client: person, namespace, now: Date.now() });
});
afterAll(() => rm(dir, { recursive: true, force: true }));

/** What a terminal of 100 columns shows for `kubectl coder …`, found on the PATH by the real kubectl. */
function terminal(words: readonly string[], kubeconfig = cluster.admin.kubeconfig): Promise<Shown> {
  const { kubectlBinary, kubectlCacheDir } = cluster.connection;
  const env = {
    ...{ KUBECONFIG: kubeconfig, KUBECACHEDIR: kubectlCacheDir, KUBERC: "off", HOME: dir },
    PATH: [dir, dirname(process.execPath), process.env.PATH].join(delimiter),
  };
  return new Call([kubectlBinary, "coder", ...words, "-n", namespace], { env, cwd: dir }).ended;
}

const textOf = ({ text }: Shown) => text.replaceAll(namespace, "coder");

describe("by the real kubectl, on a real API server", () => {
  test("there is color, and in a pipe plain ASCII with the same exit code", async () => {
    expect((await terminal(["status", "coder"])).raw).toContain("\x1b[31m✗");
    const file = join(dir, "kubectl-coder");
    const env = { ...process.env, KUBECONFIG: cluster.admin.kubeconfig };
    const piped = promisify(execFile)(process.execPath, [file, "status", "coder", "-n", namespace], { env });
    const { code, stdout } = await piped.then(
      ({ stdout: all }) => ({ code: 0, stdout: all }),
      (error: { code: number; stdout: string }) => error,
    );
    expect(code).toBe(3);
    expect(stdout).toMatch(/^[\n -~]+$/);
  });

  test("check asks the real authorizer what the operator may do", async () => {
    const shown = await terminal(["check", "--operator-namespace", namespace]);
    const text = textOf(shown);
    expect(shown.code).toBe(3);
    // The account of the fixture has no role.
    expect(text).toMatch(
      /"system:serviceaccount:coder:coder-k8s" may not\s+get\/create\/patch\s+leases\.coordination/,
    );
    expect(text).toMatch(
      /✓ Operator leads +"coder-k8s-7d4f-abcde" holds the Lease|✗ Operator leads +The Lease of/,
    );
  });

  test("writes are admitted by the API server and leave their annotations", async () => {
    await Promise.all(
      [
        ["restart", "linux"],
        ["rotate", "provisioner", "linux"],
      ].map((words) => terminal(words)),
    );
    const { metadata, spec } = await person.get(CoderProvisioner, { namespace, name: "linux" });
    expect(metadata.annotations).toHaveProperty(["coder.com/rotate-at"]);
    expect(spec?.podAnnotations).toHaveProperty(["kubectl.kubernetes.io/restartedAt"]);
  });
});

describe("a person who may read two of our kinds in one namespace", () => {
  let kubeconfig: string;
  beforeAll(async () => {
    const name = "reader";
    const account = await cluster.createServiceAccount(namespace, name);
    kubeconfig = account.kubeconfig;
    const resources = ["codercontrolplanes", "coderprovisioners"];
    const rules = [{ apiGroups: ["coder.com"], resources, verbs: ["get", "list"] }];
    await person.create(Role, { metadata: { namespace, name }, rules });
    await person.create(RoleBinding, {
      metadata: { namespace, name },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name },
      subjects: [{ kind: "ServiceAccount", namespace, name }],
    });
  });

  test("sees them in status, with a line for each part that may not be read", async () => {
    const shown = await terminal(["status"], kubeconfig);
    const text = textOf(shown);
    expect(shown.code).toBe(3);
    expect(text).toContain("✗ coder in namespace coder");
    expect(text).toContain("Certificate coder-tls · Ingress · days left unknown");
    for (const part of ["list coderworkspaceproxies", "list pods", "list events", "get secrets"])
      expect(text).toContain(`– You may not ${part} in namespace "coder".`);
  });

  test.each([["why", "provisioner/gpu"], ["check"], ["bundle", "--file", "mine.zip"]])(
    "is never refused as a whole by `%s`",
    async (...words) => {
      const shown = await terminal(words, kubeconfig);
      expect([0, 3]).toContain(shown.code);
      expect(textOf(shown)).toContain("You may not ");
    },
  );

  test.each([
    ["pause", "ccp/coder"],
    ["restart", "ccp/coder"],
    ["rotate", "token", "coder"],
    ["upgrade", "check", "coder:v3"],
  ])("reads in one line that `%s` is forbidden", async (...words) => {
    const shown = await terminal(words, kubeconfig);
    expect(shown.code).toBe(1);
    expect(textOf(shown)).toMatch(
      /^kubectl coder: patch CoderControlPlane "coder\/coder": .*cannot patch.*\n$/,
    );
  });
});
