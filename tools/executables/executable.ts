import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Log } from "kube-controller-runtime/testing/binaries";
import { nodePackage } from "../image/node-package.ts";
import { signAdHoc } from "./mach-o.ts";
import { executableNodeVersion, hostSystem, programName, type System } from "./systems.ts";

/** A bundle for an executable: the main file, and assets by name. */
export interface Program {
  readonly main: string;
  readonly assets: Readonly<Record<string, string>>;
}

/**
 * Creates an executable from a bundle and Node.js for a system, with Node.js's own support, which can target
 * other systems. The output is reproducible.
 */
export async function executableFor(system: System, program: Program, log: Log): Promise<Buffer> {
  const [builder, base] = [await nodeFor(hostSystem(), log), await nodeFor(system, log)];
  const scratch = await mkdtemp(join(tmpdir(), "coder-k8s-executable-"));
  try {
    const output = join(scratch, programName(system));
    const config = {
      // Node.js writes this name into the executable.
      ...{ main: basename(program.main), mainFormat: "module", assets: program.assets },
      ...{ executable: base, output, disableExperimentalSEAWarning: true },
      // Settings of the user for other Node.js programs must not affect this one.
      execArgvExtension: "none",
    };
    await writeFile(join(scratch, "sea.json"), JSON.stringify(config));
    const cwd = dirname(program.main);
    await promisify(execFile)(builder, ["--build-sea", join(scratch, "sea.json")], { cwd });
    const made = await readFile(output);
    return system.os === "darwin" ? signAdHoc(made, "kubectl-coder") : made;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** The license of Node.js and all linked libraries, which is the same on every system. */
export async function nodeLicense(log: Log): Promise<string> {
  return readFile(await fileOf(hostSystem(), "LICENSE", log), "utf8");
}

function nodeFor(system: System, log: Log): Promise<string> {
  return fileOf(system, "node", log);
}

async function fileOf({ os, arch, ...pin }: System, file: "node" | "LICENSE", log: Log): Promise<string> {
  // The package for Windows does not contain a license.
  const license = os === "windows" ? {} : { LICENSE: "package/LICENSE" };
  const files = await nodePackage(
    {
      name: pin.nodePackage,
      version: executableNodeVersion,
      integrity: pin.integrity,
      platform: `${os}/${arch}`,
      files: { node: os === "windows" ? "package/bin/node.exe" : "package/bin/node", ...license },
    },
    log,
  );
  return files(file);
}
