import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { LocalNode } from "kube-controller-runtime/testing/node";

/** kubectl as the admin of a node. */
export class Kubectl {
  readonly #node: Pick<LocalNode, "kubectl" | "kubeconfig">;

  constructor(node: Pick<LocalNode, "kubectl" | "kubeconfig">) {
    this.#node = node;
  }

  /** Returns what it printed; fails with its last words. */
  async run(args: readonly string[], stdin = ""): Promise<string> {
    const env = { PATH: process.env.PATH, KUBECONFIG: this.#node.kubeconfig };
    const running = promisify(execFile)(this.#node.kubectl, args, { env });
    running.child.stdin?.on("error", () => {}).end(stdin);
    const { stdout } = await running.catch((cause: Error & { readonly stderr?: string }) => {
      throw new Error(`kubectl ${args.join(" ")}: ${cause.stderr?.trim() || cause.message}`, { cause });
    });
    return stdout;
  }
}
