import type { Cluster } from "./cluster.ts";

const NAME = "poller";
/** A new connection for each question; what does not answer within five seconds has failed. */
const script = (url: string) =>
  `while :; do if said=$(timeout 5 wget -q -O /dev/null ${url} 2>&1); then echo answered;else echo "failed by $(date +%T): $said"; fi; sleep 0.2; done`;

/** Asks a URL from a pod, several times a second, until it is disposed of. */
export class Poller implements AsyncDisposable {
  readonly #cluster: Cluster;
  readonly #namespace: string;

  private constructor(cluster: Cluster, namespace: string) {
    this.#cluster = cluster;
    this.#namespace = namespace;
  }

  static async start(
    cluster: Cluster,
    { namespace, url }: { readonly namespace: string; readonly url: string },
  ): Promise<Poller> {
    const image = cluster.place.coder?.current;
    const containers = [{ name: NAME, image, command: ["sh", "-c", script(url)] }];
    const metadata = { namespace, name: NAME };
    const spec = { containers, terminationGracePeriodSeconds: 0 };
    await cluster.apply({ apiVersion: "v1", kind: "Pod", metadata, spec });
    await cluster.kubectl(["wait", "--for=condition=Ready", `pod/${NAME}`, `--namespace=${namespace}`]);
    return new Poller(cluster, namespace);
  }

  /** How often there was an answer so far, and when there was none. */
  async counts(): Promise<{ readonly answered: number; readonly failed: readonly string[] }> {
    const log = await this.#cluster.kubectl(["logs", NAME, `--namespace=${this.#namespace}`]);
    const lines = log.trim().split("\n");
    const failed = lines.filter((line) => line.startsWith("failed"));
    return { answered: lines.length - failed.length, failed };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cluster.kubectl([
      "delete",
      "pod",
      NAME,
      `--namespace=${this.#namespace}`,
      "--ignore-not-found",
    ]);
  }
}
