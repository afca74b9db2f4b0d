import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { systemClock } from "kube-controller-runtime";
import type { CoderdDeployment } from "../lab/coderd/deployment.ts";
import { type Line, span } from "../src/plugin/terminal/text.ts";
import { Board } from "./board.ts";
import { type GuideFacts, guide } from "./guide.ts";
import type { Replica } from "./operators.ts";
import { Show, seconds } from "./show.ts";
import { Signposts } from "./signposts.ts";
import type { Screen } from "./view/screen.ts";
import { watch } from "./watch.ts";
import { startWorld, type World, type WorldOptions } from "./world.ts";

export interface DemoOptions extends WorldOptions {
  /** End as soon as everything is ready, or with an error after `withinMs`. */
  readonly once: boolean;
  readonly withinMs: number;
}

/** The environment of the demo. */
export interface DemoEnvironment {
  readonly screen: Screen;
  /** Aborted to end the demo. */
  readonly signal: AbortSignal;
  /** Whether the real Coder is available. */
  readonly offersRealCoder: boolean;
}

const TICK_MS = 200;

/**
 * Starts everything, shows it until it is ready or the demo is ended, and removes everything. Rejects if it
 * is ended before everything has started.
 */
export async function runDemo(options: DemoOptions, environment: DemoEnvironment): Promise<void> {
  const { screen, signal } = environment;
  const show = new Show(screen, systemClock);
  await using owned = new AsyncDisposableStack();
  owned.adopt(
    setInterval(() => show.draw(), TICK_MS),
    clearInterval,
  );
  const world = await startWorld(options, { owned, progress: show, signal });
  const signposts = new Signposts(dirname(world.cluster.admin.kubeconfig));
  const stage = { world, board: owned.use(new Board(world.client)), show, signposts, signal };
  await world.cluster.apply(world.manifests);
  show.report("applied demo/manifests");
  await follow(stage, (late) => late.length === 0, options.once ? options.withinMs : Infinity);
  if (signal.aborted) return;
  show.report(`everything is ready after ${seconds(show.elapsedMs)}`);
  if (options.once) return show.print(await listing(world));
  await signposts.placePlugin();
  show.print(guide(guideFacts(stage, environment)));
  await follow(stage, () => false, Infinity);
}

interface Stage {
  readonly world: World;
  readonly board: Board;
  readonly show: Show;
  readonly signposts: Signposts;
  readonly signal: AbortSignal;
}

/**
 * Shows the progress until `enough` returns true for the objects that are not ready, or until the timeout or
 * the end of the demo.
 */
function follow(
  { world, board, show, signposts, signal }: Stage,
  enough: (late: readonly string[]) => boolean,
  withinMs: number,
): Promise<void> {
  const look = async () => {
    const rows = board.rows();
    show.rows(rows);
    const { replicas } = world.operators;
    show.running("operator", describeReplicas(replicas));
    await signposts.point(replicas);
    if (world.simulator) show.running("coderd", describeCoderd(world.simulator));
    return rows;
  };
  return watch(look, { enough, withinMs, tickMs: TICK_MS, clock: systemClock, signal });
}

function describeReplicas(replicas: readonly Replica[]): string {
  return replicas
    .map(({ number, pid, leads }) => `replica ${number} (pid ${pid}) ${leads ? "leads" : "stands by"}`)
    .join(" · ");
}

/** The operator's results in coderd. */
function describeCoderd({ licenses, keys, daemons, proxies }: CoderdDeployment): string {
  return [
    "simulated",
    `licenses ${licenses.length}`,
    `keys ${keys.map(({ name }) => name).join(", ") || "none"}`,
    `daemons ${daemons.length}`,
    `proxies ${proxies.map(({ name, status }) => `${name} (${status})`).join(", ") || "none"}`,
  ].join(" · ");
}

/** The first output for a user. */
async function listing({ cluster }: World): Promise<Line[]> {
  const { stdout } = await cluster.kubectl(["get", "coder"]);
  return [[], [span("$ kubectl get coder")], ...stdout.split("\n").map((line) => [span(line)])];
}

function guideFacts({ world, signposts }: Stage, { offersRealCoder }: DemoEnvironment): GuideFacts {
  const { cluster, simulator, coderdUrl, otherLicense } = world;
  return {
    kubeconfig: cluster.admin.kubeconfig,
    kubectl: cluster.connection.kubectlBinary,
    pluginFolder: signposts.programs,
    leaderFile: signposts.leader,
    operatorLogs: signposts.logs,
    offersRealCoder,
    ...(simulator ? {} : { coderd: { url: coderdUrl, logs: join(tmpdir(), "coder-k8s-pod-*/log") } }),
    ...(otherLicense ? { otherLicense } : {}),
  };
}
