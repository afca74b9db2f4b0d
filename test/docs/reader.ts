import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { text } from "node:stream/consumers";
import { type ClusterAccess, createCertificateAuthority } from "kube-controller-runtime/testing";
import { helmBinary } from "../../tools/helm/binary.ts";
import { type Block, blocks, repository } from "./pages.ts";

/** Without its types: Node takes longer to remove them than to run it, and runs it hundreds of times. */
const standIn = stripTypeScriptTypes(readFileSync(new URL("./stand-in.ts", import.meta.url), "utf8"));

/** Programs that a command may use: stand-ins for those that do something, and a few tools that only read. */
const played = ["coder", "docker", "helm", "kind", "kubectl", "make", "skopeo"];
const tools = ["base64", "cat", "grep", "tail"];

/** A user with a checkout and a cluster, who types the commands of a page. */
export class Reader implements AsyncDisposable {
  readonly #folder: string;
  readonly #env: NodeJS.ProcessEnv;

  /** Use `readerOf`. */
  constructor(folder: string, env: NodeJS.ProcessEnv) {
    this.#folder = folder;
    this.#env = env;
  }

  /** Types the commands of a block, and returns what went wrong; nothing else counts. */
  async types(block: Block): Promise<string> {
    const complaints = this.#env.COMPLAINTS ?? "";
    await writeFile(complaints, "");
    await this.#save(block.page);
    const env = this.#env;
    const shell = spawn("/bin/bash", ["-e", "-c", commandsOf(block)], {
      cwd: join(this.#folder, "checkout"),
      env,
    });
    const closed = new Promise<number>((resolve) => shell.once("close", (code) => resolve(code ?? -1)));
    shell.stdout.resume();
    const [stderr, code] = await Promise.all([text(shell.stderr), closed]);
    const complained = await readFile(complaints, "utf8");
    return code === 0 ? complained : `${complained}${stderr}`;
  }

  /** Files that the page has the reader make: the values and the manifest that it shows. */
  async #save(page: string): Promise<void> {
    const shown = blocks.filter((block) => block.page === page && block.language === "yaml");
    const values = shown.find((block) => block.text.startsWith("# values.yaml"));
    const manifest = shown.find((block) => block.text.startsWith("apiVersion: coder.com"));
    const checkout = join(this.#folder, "checkout");
    if (values) await writeFile(join(checkout, "values.yaml"), values.text);
    if (manifest) await writeFile(join(checkout, "coder.yaml"), manifest.text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** In a console the reader types what follows a dollar sign; the rest is output. */
function commandsOf({ language, text: content }: Block): string {
  if (language === "sh") return content;
  const typed = content.match(/^\$ .*(?:\\\n.*)*/gm) ?? [];
  if (typed.length === 0) throw new Error("a console block has commands, which begin with a dollar sign");
  return typed.map((command) => command.slice(2)).join("\n");
}

export async function readerOf(cluster: ClusterAccess): Promise<Reader> {
  const folder = await mkdtemp(join(tmpdir(), "coder-k8s-reader-"));
  const [bin, checkout] = [join(folder, "bin"), join(folder, "checkout")];
  await Promise.all([mkdir(bin), mkdir(join(checkout, "node_modules/.bin"), { recursive: true })]);
  for (const tool of tools) await symlink(onThisMachine(tool), join(bin, tool));
  const script = join(folder, "stand-in.mjs");
  await writeFile(script, standIn);
  for (const name of played) await play(name, join(bin, name), script);
  await play("node", join(checkout, "node_modules/.bin/node"), script);
  for (const entry of ["charts", "config", "examples"])
    await symlink(repository + entry, join(checkout, entry));
  const { cert, key } = createCertificateAuthority().issue(["coder.example.com"]);
  const files = { "license.jwt": "not-a-license", "coder.dump": "", "tls.crt": cert, "tls.key": key };
  for (const [name, content] of Object.entries(files)) await writeFile(join(checkout, name), content);
  return new Reader(folder, {
    PATH: bin,
    HOME: folder,
    KUBECONFIG: cluster.admin.kubeconfig,
    KUBECACHEDIR: cluster.connection.kubectlCacheDir,
    COMPLAINTS: join(folder, "complaints"),
    REAL_HELM: await helmBinary(),
    REAL_KUBECTL: cluster.connection.kubectlBinary,
    REAL_MAKE: onThisMachine("make"),
    REPOSITORY: repository,
    // Where `make test` has it: what is run from its sources is compiled once.
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
  });
}

async function play(name: string, path: string, script: string): Promise<void> {
  await writeFile(path, `#!/bin/sh\nexec "${process.execPath}" "${script}" ${name} "$@"\n`);
  await chmod(path, 0o755);
}

function onThisMachine(program: string): string {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const found = folders.map((folder) => join(folder, program)).find((path) => existsSync(path));
  if (!found) throw new Error(`this machine has no ${program}`);
  return found;
}
