import { ApiError, messageOf } from "kube-controller-runtime";
import { CoderControlPlane } from "../../../api/v1alpha1/kinds.ts";
import { defined } from "../../../operator/normalize.ts";
import type { Cluster } from "../../cluster.ts";
import { personalCoderd } from "../../coderd.ts";
import {
  type Answer,
  answer,
  type Command,
  CommandError,
  type Context,
  EXIT,
  type ExitCode,
} from "../../command.ts";
import { Gaps } from "../../gaps.ts";
import { assertNamespace } from "../../namespace.ts";
import { completeObjects } from "../../objects.ts";
import { operatorProblem } from "../check/operator-problem.ts";
import { assemble } from "./assemble.ts";
import { gather } from "./gather.ts";
import { statusLines } from "./overview.ts";
import type { StatusReport } from "./report.ts";

const REDRAW_MS = 2_000;

export const status: Command = {
  name: "status",
  summary: "Show control planes and what belongs to them, their problems, and how to solve them",
  details:
    "Shows one screen for one control plane, or a table for several. Exits with code 3 if something needs attention. Set CODER_URL and CODER_SESSION_TOKEN to ask coderd which daemons are busy; without them, only pools that follow the queue show it.",
  arguments: [
    {
      name: "name",
      summary: "the control plane; defaults to all in the namespace",
      optional: true,
      complete: completeObjects(CoderControlPlane),
    },
  ],
  flags: [{ flags: "-w, --watch", summary: "refresh every 2 seconds until Ctrl-C" }],
  isForAllNamespaces: true,
  examples: [
    { does: "Show the control planes of a namespace", line: "kubectl coder status -n coder" },
    { does: "Follow an upgrade", line: "kubectl coder status coder --watch" },
    {
      does: "Find the problems in the whole cluster, for a script",
      line: "kubectl coder status -A -o json",
    },
  ],
  run: (context, { arguments: [name], flags }) =>
    flags.watch ? following(context, name) : look(context, name),
};

/** The report of the control plane with this name, or of all that the user may read. */
export async function statusReport(context: Context, name?: string) {
  const cluster = await context.connect();
  const gaps = new Gaps();
  const [gathered, operator] = await Promise.all([
    gather(cluster, gaps, { name, coderd: personalCoderd(context) }),
    operatorProblem(cluster),
  ]);
  const { controlPlanes, others } = assemble(gathered, context.clock.now());
  const { isReadable } = gathered;
  if (name !== undefined && controlPlanes.length === 0 && isReadable)
    throw new CommandError(`There is no CoderControlPlane "${name}" in ${placeOf(cluster)}.`);
  if (controlPlanes.length === 0) await assertNamespace(cluster);
  const mine = name === undefined ? others : [];
  const report = { ...defined({ operator }), controlPlanes, others: mine, gaps: gaps.lines };
  return { report, isReadable };
}

function placeOf({ namespace }: Cluster): string {
  return namespace === undefined ? "any namespace" : `namespace "${namespace}"`;
}

async function look(context: Context, name: string | undefined): Promise<Answer> {
  const { report, isReadable } = await statusReport(context, name);
  return answer<StatusReport>(report, statusLines, isReadable ? exitOf(report) : EXIT.failed);
}

function exitOf({ operator, controlPlanes, others }: StatusReport): ExitCode {
  const all = [
    ...(operator ? [operator] : []),
    ...controlPlanes.flatMap(({ problems }) => problems),
    ...others,
  ];
  return all.some(({ severity }) => severity === "wrong") ? EXIT.attention : EXIT.fine;
}

/** Repeats until Ctrl-C. If the cluster does not respond for a while, the screen says so. */
async function* following(context: Context, name: string | undefined): AsyncGenerator<Answer> {
  let last = await look(context, name);
  yield last;
  for (;;) {
    const isOver = await context.clock.sleep(REDRAW_MS, context.signal).then(
      () => false,
      () => true,
    );
    if (isOver) return;
    try {
      last = await look(context, name);
      yield last;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      yield stale(last, messageOf(error));
    }
  }
}

/** The last answer, with a line that says that it is out of date. */
function stale(last: Answer, why: string): Answer {
  const report = last.data as StatusReport;
  return answer(
    { ...report, gaps: [...report.gaps, `This output is out of date: ${why}.`] },
    statusLines,
    last.exit,
  );
}
