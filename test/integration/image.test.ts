import { chmodSync, copyFileSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onFreePort, Supervised, untilReady, writeKubeconfig } from "kube-controller-runtime/testing";
import { currentPlatform } from "kube-controller-runtime/testing/binaries";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { releaseNames } from "../../tools/generate/release-names.ts";
import { architectureOf } from "../../tools/image/architecture.ts";
import { readElf } from "../../tools/image/elf.ts";
import { buildImage } from "../../tools/image/image.ts";
import { librariesFor } from "../../tools/image/libraries.ts";
import { sharedCluster } from "../support/cluster/shared.ts";
import { contained } from "../support/container-sandbox.ts";
import { type LaidOutImage, readLayout, unpack } from "../support/oci-layout.ts";

const cluster = sharedCluster();
const { arch } = currentPlatform();

// The image is made of this machine's libraries and runs on its kernel.
describe.runIf(process.platform === "linux")("the self-contained image", () => {
  let dir: string;
  let image: LaidOutImage;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "coder-k8s-image-"));
    const origin = { names: releaseNames(), commit: undefined };
    const source = { ...origin, base: undefined, sysroot: "/", log: () => {} };
    await buildImage({ ...source, platforms: [arch], out: dir });
    const [only] = readLayout(join(dir, "oci"));
    if (only === undefined) throw new Error("the layout has no image");
    image = only;
    for (const folder of ["root", "mount"]) mkdirSync(join(dir, folder), { mode: 0o755 });
    unpack(image, join(dir, "root"));
  });
  afterAll(() => rm(dir, { recursive: true, force: true }));

  test("has every library that a file in it needs, all for its platform, and lists them with licenses", () => {
    const files = image.entries.filter((entry) => entry.type === "file");
    const elves = files.map(({ content }) => readElf(content)).filter((elf) => elf !== undefined);
    const libraries = files
      .filter(({ path }) => path.startsWith("lib/"))
      .map(({ path }) => path.split("/").at(-1));
    expect(new Set(elves.map(({ machine }) => machine))).toEqual(new Set([architectureOf(arch).machine]));
    expect(libraries).toEqual(expect.arrayContaining(elves.flatMap(({ needed }) => needed)));
    const bill = JSON.parse(readFileSync(join(dir, `linux-${arch}.cdx.json`), "utf8"));
    const listed = new Map(
      bill.components.map((part: { name: string; licenses: object[] }) => [part.name, part.licenses]),
    );
    for (const name of ["node", ...libraries]) expect(listed.get(name)).toHaveLength(1);
  });

  test("serves the cluster as user 65532 with a root that it cannot write to", async () => {
    await using operator = await startOperator(image, dir);
    const about = (file: string) => readFileSync(`/proc/${operator.pid}/${file}`, "utf8");
    expect(about("status")).toMatch(/^Uid:\t65532\t65532\t65532\t65532$/m);
    expect(about("status")).toMatch(/^CapEff:\t0+$/m);
    expect(about("mountinfo")).toMatch(/^\d+ \d+ \S+ \S+ \/ ro,/m);
  });

  test("is not built if a library is missing, and the error names it and the solutions", async () => {
    const node = readFileSync(join(dir, "root/nodejs/bin/node"));
    const source = { sysroot: join(dir, "mount"), architecture: architectureOf(arch) };
    await expect(librariesFor(node, source)).rejects.toThrow(
      new RegExp(`has no lib\\S+ for linux/${arch}, which Node needs: .*SYSROOT.*BASE`),
    );
  });

  test("is not built with a library that is too old for Node", async () => {
    const { triplet } = architectureOf(arch);
    const sysroot = join(dir, "old");
    mkdirSync(join(sysroot, "lib", triplet), { recursive: true });
    const unpacked = (name: string) => join(dir, "root/lib", triplet, name);
    for (const { path } of image.entries.filter((entry) => entry.path.startsWith(`lib/${triplet}/`))) {
      const name = path.split("/").at(-1) ?? "";
      symlinkSync(unpacked(name === "libstdc++.so.6" ? "libm.so.6" : name), join(sysroot, path));
    }
    const node = readFileSync(join(dir, "root/nodejs/bin/node"));
    const architecture = architectureOf(arch);
    await expect(librariesFor(node, { sysroot, architecture })).rejects.toThrow(
      /^libstdc\+\+\.so\.6 is too old: it does not define (GLIBCXX|CXXABI)_/,
    );
  });
});

/** Starts what the image says, and returns once it answers that it is ready. */
async function startOperator({ config }: LaidOutImage, dir: string) {
  const mount = join(dir, "mount");
  const kubeconfig = join(mount, "kubeconfig");
  copyFileSync(cluster.caFile, join(mount, "ca.crt"));
  writeKubeconfig({ ...cluster.operator, kubeconfig }, cluster.server, "/tmp/ca.crt");
  // Only root can give the files to 65532; the folder around them is private.
  for (const name of ["ca.crt", "kubeconfig"]) chmodSync(join(mount, name), 0o644);
  const namespace = await cluster.createNamespace("image");
  const program = await onFreePort(async (port) => {
    const flags = ["--kubeconfig=/tmp/kubeconfig", "--no-leader-elect", `--namespaces=${namespace}`];
    const addresses = [`--health-probe-bind-address=127.0.0.1:${port}`, "--metrics-bind-address=0"];
    const words = [...config.Entrypoint, ...config.Cmd, ...flags, ...addresses];
    const started = new Supervised({
      ...contained(join(dir, "root"), mount, words),
      logFile: join(dir, "log"),
      scratch: dir,
    });
    await untilReady(started, async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok);
    return started;
  });
  return { pid: program.pid, [Symbol.asyncDispose]: () => program.stop("SIGTERM") };
}
