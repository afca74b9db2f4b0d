import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import manifest from "../../package.json" with { type: "json" };
import { packagesIn } from "../image/components.ts";
import { licenseNotices } from "../image/documents.ts";
import { writeTar } from "../image/tar.ts";
import { bundleForExecutable } from "../plugin/bundle.ts";
import { executableFor, nodeLicense } from "./executable.ts";
import { executableNodeVersion, programName, type System } from "./systems.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const log = (line: string) => console.error(`executables: ${line}`);

/** Writes the archive of `kubectl coder` for a system: the program, and the licenses of all its parts. */
export async function writeArchive(system: System, path: string, version: string): Promise<void> {
  const scratch = await mkdtemp(join(tmpdir(), "coder-k8s-plugin-"));
  try {
    const { program, inputs } = await bundleForExecutable(scratch, version);
    const content = await executableFor(system, program, log);
    const licenses = Buffer.from(await notices(inputs, version));
    const archive = writeTar([
      { type: "file", path: programName(system), content, mode: 0o755 },
      { type: "file", path: "LICENSE", content: await readFile(join(root, "LICENSE")) },
      { type: "file", path: "licenses.txt", content: licenses },
    ]);
    await writeFile(path, await promisify(gzip)(archive));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function notices(inputs: readonly string[], version: string): Promise<string> {
  const licenseText = await readFile(join(root, "LICENSE"), "utf8");
  const node = {
    name: "node",
    version: executableNodeVersion,
    license: "MIT",
    licenseText: await nodeLicense(log),
  };
  const subject = { name: "kubectl-coder", version, license: manifest.license, licenseText };
  return licenseNotices(subject, [...packagesIn(inputs, root), node]);
}
