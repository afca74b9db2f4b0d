import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { currentPlatform } from "kube-controller-runtime/testing/binaries";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeMachine } from "../../packages/kube-controller-runtime/test/support/fake-machine.ts";
import { type LaidOutImage, readLayout } from "../../test/support/oci-layout.ts";
import { coderBinaries } from "../coder/binaries.ts";
import { readPins } from "../coder/pins.ts";
import { architectureOf } from "../image/architecture.ts";
import { readTar } from "../image/tar.ts";
import { terraformProviders } from "../terraform/providers.ts";
import { coderImages, hasCoderImageParts } from "./image.ts";

const { os, arch } = currentPlatform();
/** An image contains programs of the machine, which must be Linux. */
const onLinux = test.runIf(os === "linux");
const pins = readPins(currentPlatform()).binaries;
let machine: FakeMachine;
beforeEach(() => {
  machine = new FakeMachine();
  for (const name of ["coder", "coder-oss", "coder-old", "terraform"] as const)
    machine.writeExecutable(`templates/${name}`, `#!/bin/sh\n# ${name}\necho "${pins[name].version}"\n`);
  for (const name of ["coder", "kubernetes"])
    machine.writeExecutable(`templates/terraform-provider-${name}`, `the provider ${name}`);
  machine.writeExecutable("bin/busybox", staticProgram());
});
afterEach(() => machine.remove());

/** An ELF header without libraries. */
function staticProgram(): Buffer {
  const header = Buffer.alloc(64);
  header.write("\x7fELF\x02\x01", "latin1");
  header.writeUInt16LE(architectureOf(arch).machine, 18);
  return header;
}

/** Reads an archive like containerd. */
function readArchive(file: string): { name: string; image: LaidOutImage } {
  const dir = join(machine.folder, "unpacked");
  for (const entry of readTar(readFileSync(file))) {
    if (entry.type !== "file") continue;
    mkdirSync(dirname(join(dir, entry.path)), { recursive: true });
    writeFileSync(join(dir, entry.path), entry.content);
  }
  const { manifests } = JSON.parse(readFileSync(join(dir, "index.json"), "utf8"));
  const [image] = readLayout(dir);
  if (image === undefined) throw new Error("the archive has no image");
  return { name: manifests[0].annotations["io.containerd.image.name"], image };
}

function contentIn({ entries }: LaidOutImage, path: string): string | undefined {
  const entry = entries.find((each) => each.path === path);
  return entry?.type === "file" ? entry.content.toString("latin1") : undefined;
}

onLinux("there is an image of each Coder, under the name that Coder's registry has it", async () => {
  const { current, older } = await coderImages(machine.context());
  expect(current.name).toBe(`ghcr.io/coder/coder:${pins.coder.version}`);
  expect(older.name).toBe(`ghcr.io/coder/coder:${pins["coder-old"].version}`);
  expect(readArchive(older.file).name).toBe(older.name);
  const { name, image } = readArchive(current.file);
  expect(name).toBe(current.name);
  expect(contentIn(image, "opt/coder")).toContain("# coder\n");
  expect(image.config).toMatchObject({ User: "1000:1000", Entrypoint: ["/opt/coder", "server"] });
});

onLinux("an image has what Coder, its agent and Terraform need of a system", async () => {
  const { image } = readArchive((await coderImages(machine.context())).current.file);
  expect(contentIn(image, "etc/passwd")).toContain("coder:x:1000:1000:coder:/home/coder:/bin/sh");
  expect(contentIn(image, "etc/os-release")).toMatch(/^ID=/);
  expect(contentIn(image, "etc/ssl/certs/ca-certificates.crt")).toContain("BEGIN CERTIFICATE");
  expect(contentIn(image, "usr/local/bin/terraform")).toContain("# terraform\n");
  expect(image.entries).toContainEqual({ type: "link", path: "bin/sh", to: "busybox" });
  const home = image.entries.findLast(({ path }) => path === "home/coder");
  expect(home).toEqual({ type: "directory", path: "home/coder", mode: 0o755, owner: 1000 });
});

onLinux("Terraform finds the providers in the image, as any user of it", async () => {
  const { image } = readArchive((await coderImages(machine.context())).current.file);
  for (const home of ["root", "home/coder"]) {
    const settings = contentIn(image, `${home}/.terraformrc`) ?? "";
    const [, mirror = ""] = /path = "\/(.*)"/.exec(settings) ?? [];
    const providers = image.entries.filter(
      ({ type, path }) => type === "file" && path.startsWith(`${mirror}/`),
    );
    expect(providers.map(({ path }) => path.replace(/\d+\.\d+\.\d+/g, "1.2.3"))).toEqual([
      `${mirror}/registry.terraform.io/coder/coder/1.2.3/linux_${arch}/terraform-provider-coder_v1.2.3`,
      `${mirror}/registry.terraform.io/hashicorp/kubernetes/1.2.3/linux_${arch}/terraform-provider-kubernetes_v1.2.3`,
    ]);
  }
});

onLinux("coderd serves agents the Coder of the image", async () => {
  const { image } = readArchive((await coderImages(machine.context())).current.file);
  // The first is for 2.26, the second for 2.36.
  for (const folder of ["bin", "orig/bin"]) {
    const path = `home/coder/.cache/coder/site/${folder}/coder-linux-${arch}`;
    expect(image.entries).toContainEqual({ type: "link", path, to: "/opt/coder", owner: 1000 });
  }
});

onLinux("images are packed once, and again when something in them changes", async () => {
  const first = await coderImages(machine.context());
  const packed = () => machine.lines.filter((line) => line.startsWith("packing")).length;
  expect(await coderImages(machine.context())).toEqual(first);
  expect(packed()).toBe(2);
  machine.writeExecutable("bin/busybox", Buffer.concat([staticProgram(), Buffer.from("another")]));
  await coderImages(machine.context());
  expect(packed()).toBe(4);
});

onLinux("without a static busybox, one sentence says what to install", async () => {
  machine.writeExecutable("bin/busybox", "#!/bin/sh\n");
  machine.writeExecutable("bin/apt-get", "#!/bin/sh\nexit 100\n");
  const env = { ...machine.env, PATH: join(machine.folder, "bin") };
  await expect(coderImages({ ...machine.context(), env })).rejects.toThrow(
    "the Coder image needs a static busybox, which this machine does not have; " +
      "install it (Debian and Ubuntu: apt-get install busybox-static).",
  );
});

onLinux("the busybox of a package is fetched once", async () => {
  await coderImages(machine.context());
  const { folder } = machine;
  const scripts = {
    busybox: "",
    "apt-get": `echo fetched >> ${folder}/fetched; : > busybox.deb`,
    "dpkg-deb": `/bin/mkdir -p root/bin; /bin/cp ${folder}/templates/busybox root/bin/`,
  };
  machine.writeExecutable("templates/busybox", staticProgram());
  for (const [name, script] of Object.entries(scripts))
    machine.writeExecutable(`bin/${name}`, `#!/bin/sh\n${script}\n`);
  // The test machine may have a busybox.
  const context = { ...machine.context(), env: { ...machine.env, PATH: join(folder, "bin") } };
  const first = await coderImages(context);
  expect(await coderImages(context)).toEqual(first);
  expect(readFileSync(join(folder, "fetched"), "utf8")).toBe("fetched\n");
});

onLinux("looking for the parts of the images builds nothing, and finds what was built", async () => {
  expect(await hasCoderImageParts(machine.context())).toBe(false);
  expect(machine.built).toEqual([]);
  await coderBinaries(machine.context());
  expect(await hasCoderImageParts(machine.context())).toBe(false);
  await terraformProviders(machine.context());
  expect(await hasCoderImageParts(machine.context())).toBe(true);
});
