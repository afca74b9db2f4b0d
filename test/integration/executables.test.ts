import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { executableFor } from "../../tools/executables/executable.ts";
import { hostSystem, type System, systems } from "../../tools/executables/systems.ts";
import { bundleForExecutable, bundlePlugin, type ExecutableBundle } from "../../tools/plugin/bundle.ts";
import { sharedCluster } from "../support/cluster/shared.ts";

const run = promisify(execFile);
const version = "7.8.9";
let dir: string;
let bundled: ExecutableBundle;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "coder-k8s-executables-"));
  bundled = await bundleForExecutable(dir, version);
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const build = (system: System, { program } = bundled) => executableFor(system, program, () => {});
const named = (os: string, arch: string) => {
  const found = systems.find((system) => system.os === os && system.arch === arch);
  if (!found) throw new Error(`there is no executable for ${os} ${arch}`);
  return found;
};

describe("the executable for this system", () => {
  let file: string;
  beforeAll(async () => {
    file = join(dir, "kubectl-coder");
    await writeFile(file, await build(hostSystem()));
    await chmod(file, 0o755);
  }, 120_000);
  // Nothing of this machine's Node: neither the PATH nor options for it.
  const env = { PATH: "", HOME: "/nowhere", NODE_OPTIONS: "--no-such-option" };

  test("reports its version without any Node installed", async () => {
    const { stdout, stderr } = await run(file, ["--version"], { cwd: dir, env });
    expect({ stdout, stderr }).toEqual({ stdout: `${version}\n`, stderr: "" });
  });

  test("reads a cluster and prints what it found", async () => {
    const values = join(dir, "values.yaml");
    await writeFile(values, "coder: { image: { tag: v2.26.0 } }");
    const { kubeconfig } = sharedCluster().admin;
    const words = [
      "import",
      "helm",
      "coder",
      "--values",
      values,
      "--chart",
      "coder",
      "--check",
      "-o",
      "json",
    ];
    const ended = await run(file, [...words, "--kubeconfig", kubeconfig], { env }).catch((error) => error);
    expect(JSON.parse(ended.stdout)).toMatchObject({ manifest: { kind: "CoderControlPlane" } });
  });

  test("serves assistants", async () => {
    expect(await toolsOf(file, [])).toContain("why");
  });
});

/** Starts the program as an assistant's host does, and asks what it offers. */
async function toolsOf(command: string, args: readonly string[]): Promise<string[]> {
  const client = new Client({ name: "test", version: "1" });
  const { kubeconfig } = sharedCluster().admin;
  await client.connect(
    new StdioClientTransport({ command, args: [...args, "mcp", "--kubeconfig", kubeconfig], env: {} }),
  );
  try {
    const answer = await client.callTool({ name: "status", arguments: {} });
    expect(answer.isError ?? false).toBe(false);
    return (await client.listTools()).tools.map(({ name }) => name);
  } finally {
    await client.close();
  }
}

test("the bundle of the plugin loads the server for assistants from the file beside it", async () => {
  const file = join(dir, "bundle", "kubectl-coder");
  const { inputs } = await bundlePlugin(file, version);
  expect(inputs.filter((input) => input.includes("modelcontextprotocol"))).toEqual([]);
  expect(await toolsOf(process.execPath, [file])).toContain("why");
});

test("the executable for macOS has a signature whose hashes are those of its pages", async () => {
  const file = await build(named("darwin", "arm64"));
  expect(file.readUInt32LE(0)).toBe(0xfeedfacf);
  expect(file.readUInt32LE(4)).toBe(0x0100000c);
  expect(file.includes(version)).toBe(true);
  const { start, size } = signatureOf(file);
  expect(start + size).toBe(file.length);
  const directory = file.subarray(start + 20);
  const [hashes, pages] = [directory.readUInt32BE(16), directory.readUInt32BE(28)];
  expect(pages).toBe(Math.ceil(start / 4096));
  for (const page of [0, 1, Math.floor(pages / 2), pages - 1]) {
    const content = file.subarray(page * 4096, Math.min((page + 1) * 4096, start));
    const recorded = directory.subarray(hashes + 32 * page, hashes + 32 * (page + 1));
    expect(recorded).toEqual(createHash("sha256").update(content).digest());
  }
}, 120_000);

/** By the load command that names it. */
function signatureOf(file: Buffer): { start: number; size: number } {
  let at = 32;
  for (let left = file.readUInt32LE(16); left > 0; left--) {
    if (file.readUInt32LE(at) === 0x1d)
      return { start: file.readUInt32LE(at + 8), size: file.readUInt32LE(at + 12) };
    at += file.readUInt32LE(at + 4);
  }
  throw new Error("there is no signature");
}

test("the executable for Windows has its processor architecture, and its build is reproducible", async () => {
  const file = await build(named("windows", "amd64"));
  const header = file.readUInt32LE(0x3c);
  expect(file.toString("latin1", 0, 2)).toBe("MZ");
  expect(file.toString("latin1", header, header + 4)).toBe("PE\0\0");
  expect(file.readUInt16LE(header + 4)).toBe(0x8664);
  expect(file.includes(version)).toBe(true);
  const elsewhere = await bundleForExecutable(join(dir, "elsewhere"), version);
  expect((await build(named("windows", "amd64"), elsewhere)).equals(file)).toBe(true);
  expect(file.includes(dir), "the path of the build").toBe(false);
}, 120_000);
