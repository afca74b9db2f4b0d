import { execFile, spawn } from "node:child_process";
import { chmod, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { eventually } from "kube-controller-runtime/testing";
import { describe, expect, test } from "vitest";
import { sharedCluster } from "../support/cluster/shared.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** A fresh start takes ten seconds or so on an idle machine; this one has other tests to run. */
const BOUND_MS = 150_000;
const STARTED = { withinMs: 100_000 };

/** The demo in a process of its own, with a folder of its own for all that it puts on disk. */
class Demo {
  output = "";
  readonly ended: Promise<number | NodeJS.Signals>;
  readonly #kill: (signal: NodeJS.Signals) => void;

  constructor(command: readonly string[], env: NodeJS.ProcessEnv) {
    const [program = "", ...args] = command;
    const child = spawn(program, args, {
      cwd: ROOT,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        this.output += text;
      });
    }
    this.#kill = (signal) => child.kill(signal);
    this.ended = new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code, signal) => resolve(code ?? signal ?? -1));
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.#kill(signal);
  }

  untilPrinted(text: string): Promise<void> {
    return eventually(() => expect(this.output).toContain(text), STARTED);
  }
}

/** A folder for one demo, and what it leaves there and among processes. */
class Place implements AsyncDisposable {
  readonly dir: string;

  private constructor(dir: string) {
    this.dir = dir;
  }

  static async make(): Promise<Place> {
    const dir = await mkdtemp(join(tmpdir(), "coder-k8s-demo-test-"));
    // Postgres does not run as root, and has to get at its own folder.
    await chmod(dir, 0o755);
    return new Place(dir);
  }

  start(...command: readonly string[]): Demo {
    return new Demo(command, { TMPDIR: this.dir });
  }

  /** Every process of a demo has a path below its folder among its arguments. */
  async leftovers(): Promise<string[]> {
    const { stdout } = await promisify(execFile)("ps", ["-axww", "-o", "args="], { maxBuffer: 1 << 26 });
    const processes = stdout.split("\n").filter((line) => line.includes(this.dir));
    return [...processes, ...(await readdir(this.dir))];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return rm(this.dir, { recursive: true, force: true });
  }
}

describe.concurrent("the demo", { timeout: BOUND_MS }, () => {
  test("ends with 0 when all three kinds are ready, and leaves nothing behind", async () => {
    await using place = await Place.make();
    const demo = place.start("make", "--silent", "demo", "ONCE=1");
    expect(await demo.ended, demo.output).toBe(0);
    const listed = demo.output
      .match(/^\S+\.coder\.com\/\S+ +True +Serving/gm)
      ?.map((line) => line.split(" ")[0]);
    expect(listed).toEqual([
      "codercontrolplane.coder.com/coder",
      "coderprovisioner.coder.com/linux",
      "coderworkspaceproxy.coder.com/sydney",
    ]);
    expect(demo.output).toContain("daemons 2 · proxies sydney (ok)");
    expect(await place.leftovers()).toEqual([]);
  });

  test("ends with 1 when something fails, and says what", async () => {
    await using place = await Place.make();
    const demo = place.start(process.execPath, "demo/main.ts", "--within", "soon");
    expect(await demo.ended, demo.output).toBe(1);
    expect(demo.output).toBe("demo: --within needs a number of seconds\n");
  });

  test("that is stopped while it starts leaves nothing behind", async () => {
    await using place = await Place.make();
    const demo = place.start(process.execPath, "demo/main.ts");
    await demo.untilPrinted("Kubernetes");
    demo.signal("SIGTERM");
    expect(await demo.ended, demo.output).toBe(0);
    expect(await place.leftovers()).toEqual([]);
  });

  test("shows how to play, goes on, and leaves nothing behind even when it is killed", async () => {
    await using place = await Place.make();
    const demo = place.start(process.execPath, "demo/main.ts");
    await demo.untilPrinted("Ctrl-C ends everything");
    const idea = (pattern: RegExp) => pattern.exec(demo.output)?.[1] ?? "";
    const kubeconfig = idea(/export KUBECONFIG=(.*)/);
    expect(demo.output).toContain(`alias kubectl=${sharedCluster().connection.kubectlBinary}`);
    expect(demo.output).toContain('`pods "local" not found`');
    const leader = await readFile(idea(/kill -9 \$\(cat (.*)\)/), "utf8");
    expect(demo.output).toContain(`(pid ${leader.trim()}) leads`);
    const log = await readFile(idea(/tail -F (.*operator-.*)/).replace("*", "1"), "utf8");
    expect(log).toContain("operator starts");
    const rotate = idea(/kubectl (apply -f .*premium.*)/);
    const { kubectlBinary } = sharedCluster().connection;
    const PATH = `${idea(/export PATH=(.*):\$PATH/)}${delimiter}${process.env.PATH}`;
    const plugin = await promisify(execFile)(kubectlBinary, ["coder", "status"], {
      env: { KUBECONFIG: kubeconfig, PATH },
    });
    expect(plugin.stdout).toMatch(/^ok coder in namespace /);
    await promisify(execFile)(kubectlBinary, rotate.split(" "), { env: { KUBECONFIG: kubeconfig } });
    await demo.untilPrinted("license premium");
    demo.signal("SIGKILL");
    await demo.ended;
    await eventually(async () => expect(await place.leftovers()).toEqual([]), { withinMs: 20_000 });
  });
});
