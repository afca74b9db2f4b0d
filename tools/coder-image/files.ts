import { rootCertificates } from "node:tls";
import type { TarEntry } from "../image/tar.ts";
import type { TerraformProvider } from "../terraform/providers.ts";
import { applets } from "./busybox.ts";

/** The user of Coder's own image. */
const CODER = { owner: 1000, home: "home/coder" } as const;

/** Contains a folder for every version of every provider, like `terraform providers mirror`. */
const MIRROR = "usr/local/share/terraform/providers";

const SITE_CACHE = ".cache/coder/site";
/** Where coderd looks for the agent binaries, before 2.36 and since. */
const SERVED = [`${SITE_CACHE}/bin`, `${SITE_CACHE}/orig/bin`];

/** Terraform only uses providers in the image: a test cluster makes no requests to the internet. */
const TERRAFORM_SETTINGS = `disable_checkpoint = true

provider_installation {
  filesystem_mirror {
    path = "/${MIRROR}"
  }
}
`;

/** The agent does not start in an image without os-release. */
const OS_RELEASE = `ID=coder-k8s
NAME="Coder for the tests of coder-k8s"
PRETTY_NAME="Coder for the tests of coder-k8s"
`;

/** An entry of an image, or an executable of this machine to copy. */
export type SourceFile = TarEntry | { readonly type: "copy"; readonly path: string; readonly from: string };

/** Files that a shell, Coder and Terraform expect in a system. */
export function systemFiles(busybox: Buffer): TarEntry[] {
  return [
    ...["dev", "proc", "sys", "run"].map((path): TarEntry => ({ type: "directory", path })),
    { type: "directory", path: "tmp", mode: 0o1777 },
    text(
      "etc/passwd",
      `root:x:0:0:root:/root:/bin/sh\ncoder:x:${CODER.owner}:${CODER.owner}:coder:/${CODER.home}:/bin/sh\n`,
    ),
    text("etc/group", `root:x:0:\ncoder:x:${CODER.owner}:\n`),
    text("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
    text("etc/os-release", OS_RELEASE),
    text("etc/ssl/certs/ca-certificates.crt", `${rootCertificates.join("\n")}\n`),
    { type: "file", path: "bin/busybox", content: busybox, mode: 0o755 },
    ...applets.map((name): TarEntry => ({ type: "link", path: `bin/${name}`, to: "busybox" })),
    { type: "link", path: "usr/bin/env", to: "/bin/busybox" },
    { type: "directory", path: "root", mode: 0o700 },
    text("root/.terraformrc", TERRAFORM_SETTINGS),
    { type: "directory", path: CODER.home, owner: CODER.owner },
    { ...text(`${CODER.home}/.terraformrc`, TERRAFORM_SETTINGS), owner: CODER.owner },
  ];
}

/** Terraform in the `PATH` and a mirror of providers, which `.terraformrc` refers to. */
export function terraformFiles(
  terraform: string,
  { providers, architecture }: { providers: readonly TerraformProvider[]; architecture: string },
): SourceFile[] {
  const mirrored = providers.map(({ source, version, file }) => {
    const folder = `${MIRROR}/registry.terraform.io/${source}/${version}/linux_${architecture}`;
    return copy(file, `${folder}/terraform-provider-${source.split("/").at(-1)}_v${version}`);
  });
  return [copy(terraform, "usr/local/bin/terraform"), ...mirrored];
}

/**
 * Coder at the path of its own image. It is also the agent binary: a build without the dashboard contains no
 * binaries and serves those in its cache folder.
 */
export function coderFiles(coder: string, architecture: string): SourceFile[] {
  const owned = (path: string): SourceFile => ({ type: "directory", path, owner: CODER.owner });
  return [
    copy(coder, "opt/coder"),
    { type: "link", path: "usr/local/bin/coder", to: "/opt/coder" },
    // Includes the home folder: root owns folders that a layer does not list.
    owned(CODER.home),
    ...[".cache", ".cache/coder", SITE_CACHE, `${SITE_CACHE}/orig`].map((path) =>
      owned(`${CODER.home}/${path}`),
    ),
    ...SERVED.map((path) => `${CODER.home}/${path}`).flatMap((folder): SourceFile[] => [
      owned(folder),
      { type: "link", path: `${folder}/coder-linux-${architecture}`, to: "/opt/coder", owner: CODER.owner },
    ]),
  ];
}

function text(path: string, content: string): TarEntry {
  return { type: "file", path, content: Buffer.from(content) };
}

function copy(from: string, path: string): SourceFile {
  return { type: "copy", path, from };
}
