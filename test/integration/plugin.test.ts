import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify, stripVTControlCharacters } from "node:util";
import { type Client, Role, RoleBinding } from "kube-controller-runtime";
import { adminClient } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CoderProvisioner } from "../../src/api/v1alpha1/kinds.ts";
import { bundlePlugin } from "../../tools/plugin/bundle.ts";
import { sharedCluster } from "../support/cluster/shared.ts";
import { framesOf, PAGE, plainFrame } from "../support/plugin-frames.ts";
import { setUpScene } from "../support/plugin-scene.ts";

const cluster = sharedCluster();
/** Those whose answer depends on nothing but the namespace. */
const frames = framesOf(await readFile(PAGE, "utf8")).filter(
  ({ words: [name = ""] }) => !["check", "bundle"].includes(name),
);

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
  await setUpScene({ client: person, namespace, now: Date.now() });
});
afterAll(() => rm(dir, { recursive: true, force: true }));

interface Shown {
  readonly code: number;
  /** With everything that the terminal was sent. */
  readonly raw: string;
}

/** What a terminal of 100 columns shows for `kubectl coder …`, found on the PATH by the real kubectl. */
async function terminal(words: readonly string[], kubeconfig = cluster.admin.kubeconfig): Promise<Shown> {
  const { kubectlBinary, kubectlCacheDir } = cluster.connection;
  const line = [kubectlBinary, "coder", ...words, "-n", namespace].map((word) => `'${word}'`).join(" ");
  const env = {
    ...{ KUBECONFIG: kubeconfig, KUBECACHEDIR: kubectlCacheDir, KUBERC: "off" },
    ...{ TERM: "xterm", LANG: "C.UTF-8", HOME: dir },
    PATH: [dir, dirname(process.execPath), process.env.PATH].join(delimiter),
  };
  const call = ["-qec", `stty cols 100 rows 200 && exec ${line}`, "/dev/null"];
  try {
    const { stdout } = await promisify(execFile)("script", call, { env, cwd: dir });
    return { code: 0, raw: stdout };
  } catch (error) {
    const { code, stdout } = error as { code: number; stdout: string };
    if (typeof code !== "number") throw error;
    return { code, raw: stdout };
  }
}

const textOf = ({ raw }: Shown) => stripVTControlCharacters(raw).replaceAll(namespace, "coder");

describe("in a pseudo-terminal, by the real kubectl, on a real API server", () => {
  test.each(frames.map((frame) => ({ ...frame, command: frame.words.join(" ") })))(
    "`kubectl coder $command` shows what the documentation shows",
    async ({ words, text }) => {
      expect(plainFrame(textOf(await terminal(words)))).toBe(plainFrame(text));
    },
  );

  test("there is colour, and in a pipe plain ASCII with the same exit code", async () => {
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
    // The account of the scene has no role.
    expect(text).toMatch(
      /"system:serviceaccount:coder:coder-k8s" may not\s+get\/create\/patch\s+leases\.coordination/,
    );
    expect(text).toMatch(
      /✓ Operator leads +"coder-k8s-7d4f-abcde" holds the Lease|✗ Operator leads +The Lease of/,
    );
  });

  test("bundle writes a zip, and says what it could not read", async () => {
    const shown = await terminal(["bundle", "--file", "report.zip"]);
    expect(shown.code).toBe(0);
    expect(textOf(shown)).toContain("objects/coder/codercontrolplane/coder.yaml");
    expect((await readFile(join(dir, "report.zip"))).subarray(0, 2).toString()).toBe("PK");
  });

  test("writes are admitted by the API server and leave their annotations", async () => {
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
      /^kubectl coder: patch CoderControlPlane "coder\/coder": .*cannot patch.*\r\n$/,
    );
  });
});
