import type { Cluster } from "./cluster.ts";

const POD = "service-probe";

/** The response of a Service, and its time on the node. */
interface Answer {
  readonly at: number;
  /** The version of Coder in the response; undefined if there was none. */
  readonly version: string | undefined;
}

/** What was seen of a Service while a pod asked it. */
export interface Served {
  /** The versions that answered, in order. */
  readonly versions: readonly string[];
  /** From the last answer before each outage to the first one after it, all together. */
  readonly downMs: number;
  /** When the first version answered for the last time, as the node has it. */
  readonly firstEndedAt: number;
}

interface Target {
  /** Where the pod is. */
  readonly namespace: string;
  readonly image: string;
  /** Of coderd, as a pod reaches it. */
  readonly url: string;
}

/** Asks coderd for its version through its Service, from a pod and ten times a second. */
export class ServiceProbe implements AsyncDisposable {
  readonly #cluster: Cluster;
  readonly #target: Target;

  private constructor(cluster: Cluster, target: Target) {
    this.#cluster = cluster;
    this.#target = target;
  }

  static async start(cluster: Cluster, target: Target): Promise<ServiceProbe> {
    const { namespace, image, url } = target;
    const script = `while :; do timeout 1 wget -q -O - ${url}/api/v2/buildinfo 2>/dev/null || echo; sleep 0.1; done`;
    await cluster.apply({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { namespace, name: POD },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [{ name: "probe", image, command: ["sh", "-c", script] }],
      },
    });
    await cluster.kubectl([
      ...["wait", "--for=condition=Ready", `pod/${POD}`, `--namespace=${namespace}`, "--timeout=60s"],
    ]);
    return new ServiceProbe(cluster, target);
  }

  /** What was seen since the start. */
  async served(): Promise<Served> {
    const { namespace } = this.#target;
    return servedBy(
      answersIn(await this.#cluster.kubectl(["logs", POD, `--namespace=${namespace}`, "--timestamps"])),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cluster.kubectl(["delete", "pod", POD, `--namespace=${this.#target.namespace}`]);
  }
}

/** A line for each question: the time, and coderd's answer. */
function answersIn(log: string): Answer[] {
  return log
    .trimEnd()
    .split("\n")
    .map((line) => {
      const [time = "", ...said] = line.split(" ");
      const [, version] = /"version":"(v[0-9.]+)/.exec(said.join(" ")) ?? [];
      return { at: Date.parse(time), version };
    });
}

function servedBy(answers: readonly Answer[]): Served {
  const served = answers.filter(({ version }) => version !== undefined);
  const gaps = served.slice(1).map(({ at }, index) => {
    const before = served[index]?.at ?? at;
    return answers.some((each) => each.version === undefined && each.at > before && each.at < at)
      ? at - before
      : 0;
  });
  return {
    versions: [...new Set(served.map(({ version }) => version ?? ""))],
    firstEndedAt: served.findLast(({ version }) => version === served[0]?.version)?.at ?? 0,
    downMs: gaps.reduce((sum, ms) => sum + ms, 0),
  };
}
