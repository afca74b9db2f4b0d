import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onFreePort, Supervised, untilReady } from "kube-controller-runtime/testing";
import { stringify } from "yaml";
import { prometheusBinaries } from "../../tools/prometheus/binaries.ts";

const TARGETS = "targets.json";

/** A sample of an instant query. */
export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}

/** A rule as Prometheus has it. */
export interface LoadedRule {
  readonly name: string;
  readonly health: string;
}

/** The real Prometheus, which scrapes every second. */
export class Prometheus implements AsyncDisposable {
  readonly #program: Supervised;
  readonly #url: string;
  readonly #dir: string;

  /** Use `startPrometheus`. */
  constructor(program: Supervised, url: string, dir: string) {
    this.#program = program;
    this.#url = url;
    this.#dir = dir;
  }

  /** Scrapes these operators, and no others, from now on. */
  async scrape(targets: readonly string[]): Promise<void> {
    const file = join(this.#dir, TARGETS);
    await writeFile(`${file}.new`, JSON.stringify([{ targets, labels: { namespace: "coder-system" } }]));
    await rename(`${file}.new`, file);
  }

  async isReady(): Promise<boolean> {
    return (await fetch(`${this.#url}/-/ready`)).ok;
  }

  /** What a query returns now; fails with the words of Prometheus. */
  async query(query: string): Promise<Sample[]> {
    const { result } = (await this.#ask(`query?query=${encodeURIComponent(query)}`)) as { result: Sample[] };
    return result;
  }

  async rules(): Promise<LoadedRule[]> {
    const { groups } = (await this.#ask("rules")) as { groups: { rules: LoadedRule[] }[] };
    return groups.flatMap(({ rules }) => rules);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program.stop("SIGKILL");
    await rm(this.#dir, { recursive: true, force: true });
  }

  async #ask(path: string): Promise<unknown> {
    const response = await fetch(`${this.#url}/api/v1/${path}`);
    const { data, error } = (await response.json()) as { data?: unknown; error?: string };
    if (error) throw new Error(error);
    return data;
  }
}

/** Starts Prometheus with rules. It scrapes as the chart's ServiceMonitor has it do. */
export async function startPrometheus(rules: string): Promise<Prometheus> {
  const { prometheus: command } = await prometheusBinaries();
  const dir = await mkdtemp(join(tmpdir(), "coder-k8s-prometheus-"));
  const config = join(dir, "prometheus.yml");
  await writeFile(config, stringify(configuration(rules)));
  return onFreePort(async (port) => {
    const address = `127.0.0.1:${port}`;
    const args = [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(dir, "data")}`,
      `--web.listen-address=${address}`,
      "--log.level=warn",
    ];
    const program = new Supervised({ command, args, logFile: join(dir, "log"), scratch: dir });
    const prometheus = new Prometheus(program, `http://${address}`, dir);
    await untilReady(program, () => prometheus.isReady());
    return prometheus;
  });
}

function configuration(rules: string): object {
  return {
    global: { scrape_interval: "1s", evaluation_interval: "1s" },
    rule_files: [rules],
    scrape_configs: [
      {
        job_name: "coder-k8s-metrics",
        honor_labels: true,
        file_sd_configs: [{ files: [TARGETS], refresh_interval: "1s" }],
      },
    ],
  };
}
