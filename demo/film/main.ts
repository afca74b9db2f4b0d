/** `make film`: runs the demo and draws docs/images/demo.svg from its frames. */
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { messageOf, systemClock } from "kube-controller-runtime";
import { cut, type Line, span } from "../../src/plugin/terminal/text.ts";
import { Board } from "../board.ts";
import type { Row } from "../rows.ts";
import { frame } from "../view/frame.ts";
import { startWorld } from "../world.ts";
import { frameTimes } from "./frame-times.ts";
import { type Frame, filmSvg } from "./svg.ts";

const FILE = fileURLToPath(new URL("../../docs/images/demo.svg", import.meta.url));
const COLUMNS = 84;
const LOOK_MS = 30;
const WITHIN_MS = 60_000;
const silent = { starting: () => {}, running: () => {}, report: () => {} };

/** A command, its meaning, and the duration of its act in the film. */
interface Act {
  readonly command: string;
  readonly remark: string;
  readonly showMs: number;
  readonly holdMs: number;
  readonly run: () => Promise<void>;
  /** Whether the act is complete. */
  readonly done: (rows: readonly Row[]) => boolean;
}

/** Records the board from a command to the end of its act. Every frame has its real time. */
async function follow(board: Board, { run, done, command, remark }: Act): Promise<Frame[]> {
  const prompt: Line[] = [[span("$ ", "dim"), span(command, "bold")], [span(`# ${remark}`, "dim")]];
  const frames: Frame[] = [{ atMs: 0, lines: [...prompt, ...picture(board.rows())] }];
  await run();
  const startedAt = systemClock.monotonic();
  const signal = AbortSignal.timeout(WITHIN_MS);
  for (let rows = board.rows(); !done(rows); rows = board.rows()) {
    const lines = [...prompt, ...picture(rows)];
    const isNew = JSON.stringify(lines) !== JSON.stringify(frames.at(-1)?.lines);
    if (isNew) frames.push({ atMs: systemClock.monotonic() - startedAt, lines });
    await systemClock.sleep(LOOK_MS, signal);
  }
  const lines = [...prompt, ...picture(board.rows())];
  return [...frames, { atMs: systemClock.monotonic() - startedAt, lines }];
}

function picture(rows: readonly Row[]): Line[] {
  const lines = frame({ parts: [], rows, recent: [], elapsedMs: 0 }, COLUMNS);
  return lines.slice(1).map((line) => cut(line, COLUMNS));
}

async function film(): Promise<string> {
  await using owned = new AsyncDisposableStack();
  const { signal } = new AbortController();
  const { cluster, client, manifests } = await startWorld({}, { owned, progress: silent, signal });
  const board = owned.use(new Board(client));
  const ready = (rows: readonly Row[]) => rows.every(({ blocked }) => blocked === undefined);
  const keyOf = (rows: readonly Row[]) =>
    rows.flatMap(({ facts }) => facts).find((fact) => fact.startsWith("key "));
  const patch = '{"spec":{"tags":{"region":"us"}}}';
  let firstKey: string | undefined;
  const acts: Act[] = [
    {
      command: "kubectl apply -f demo/manifests",
      remark: "a server, its license, provisioners, a proxy: the operator makes keys and tokens",
      showMs: 5_500,
      holdMs: 1_500,
      run: () => cluster.apply(manifests),
      done: ready,
    },
    {
      command: `kubectl patch cprov linux --type=merge -p '${patch}'`,
      remark: "other tags: a new key, new pods, and only then the old key goes",
      showMs: 3_500,
      holdMs: 2_500,
      run: async () => {
        firstKey = keyOf(board.rows());
        await cluster.kubectl(["patch", "coderprovisioner", "linux", "--type=merge", "-p", patch]);
      },
      done: (rows) => keyOf(rows) !== firstKey && ready(rows) && !JSON.stringify(rows).includes('"Rotating"'),
    },
  ];
  const frames: Frame[] = [];
  let lengthMs = 0;
  for (const act of acts) {
    frames.push(...frameTimes(await follow(board, act), { startMs: lengthMs, showMs: act.showMs }));
    lengthMs += act.showMs + act.holdMs;
  }
  const description = `A terminal: ${acts.map(({ command, remark }) => `${command} (${remark})`).join("; then ")}`;
  return filmSvg({ frames, lengthMs, columns: COLUMNS, description });
}

try {
  const svg = await film();
  await writeFile(FILE, svg);
  process.stdout.write(`${FILE}: ${Math.round(svg.length / 1024)} KB\n`);
} catch (error) {
  process.stderr.write(`film: ${messageOf(error)}\n`);
  process.exitCode = 1;
}
