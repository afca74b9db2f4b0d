import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { ClusterAccess } from "kube-controller-runtime/testing";
import { parseAllDocuments } from "yaml";
import { helmBinary } from "../../tools/helm/binary.ts";

/** The chart as it is in this repository. */
export const chartDir = fileURLToPath(new URL("../../charts/coder-k8s", import.meta.url));

/** An object as a chart renders it. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string } & Readonly<
    Record<string, unknown>
  >;
  readonly [field: string]: unknown;
}

/** What to render or install. */
export interface Release {
  readonly name: string;
  readonly namespace: string;
  readonly chart?: string;
  readonly values?: object;
}

/** How a call of helm ended. */
export interface HelmResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

/** The real helm, as the admin of a cluster, without anything of the person whose machine this is. */
export class Helm implements AsyncDisposable {
  readonly #binary: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #home: string;

  /** Use `helmFor`. */
  constructor(binary: string, home: string, kubeconfig: string) {
    this.#binary = binary;
    this.#home = home;
    this.#env = {
      PATH: process.env.PATH,
      HOME: home,
      HELM_CACHE_HOME: join(home, "cache"),
      HELM_CONFIG_HOME: join(home, "config"),
      HELM_DATA_HOME: join(home, "data"),
      KUBECONFIG: kubeconfig,
    };
  }

  async run(args: readonly string[], stdin = ""): Promise<HelmResult> {
    const child = spawn(this.#binary, args, { env: this.#env });
    const exit = new Promise<number>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => resolve(code ?? -1));
    });
    child.stdin.on("error", () => {}).end(stdin);
    const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
    return { stdout, stderr, code };
  }

  /** Runs `install`, `upgrade` or `template` for a release, with its values. */
  release(command: "install" | "upgrade" | "template", release: Release, ...flags: readonly string[]) {
    const { name, namespace, chart = chartDir, values = {} } = release;
    const args = [command, name, chart, "--namespace", namespace, "--values", "-", ...flags];
    return this.run(args, JSON.stringify(values));
  }

  /** What a release consists of; fails with helm's words. */
  async manifests(release: Release): Promise<Manifest[]> {
    const { stdout } = succeeded(await this.release("template", release));
    return parseAllDocuments(stdout)
      .map((document) => document.toJS() as Manifest | null)
      .filter((manifest) => manifest !== null);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#home, { recursive: true, force: true });
  }
}

export async function helmFor({
  admin,
}: {
  readonly admin: Pick<ClusterAccess["admin"], "kubeconfig">;
}): Promise<Helm> {
  const [binary, home] = await Promise.all([helmBinary(), mkdtemp(join(tmpdir(), "coder-k8s-helm-"))]);
  return new Helm(binary, home, admin.kubeconfig);
}

/** The result itself when the call succeeded; an error with its last words when not. */
export function succeeded<T extends { readonly code: number; readonly stderr: string }>(result: T): T {
  if (result.code !== 0) throw new Error(result.stderr.trim());
  return result;
}

/** The only manifest of a kind, or of a kind and name. */
export function only(manifests: readonly Manifest[], kind: string, name?: string): Manifest {
  const found = manifests.filter(
    (manifest) => manifest.kind === kind && (name === undefined || manifest.metadata.name === name),
  );
  const [manifest, ...others] = found;
  if (!manifest || others.length > 0) throw new Error(`there are ${found.length} manifests of kind ${kind}`);
  return manifest;
}
