import { CoderControlPlane } from "../../../api/v1alpha1/kinds.ts";
import type { Cluster } from "../../cluster.ts";
import { personalCoderd } from "../../coderd.ts";
import { answer, type Command, CommandError, type Context, EXIT, type ExitCode } from "../../command.ts";
import { Gaps } from "../../gaps.ts";
import { completeObjects, findObject, typedName } from "../../objects.ts";
import { operatorProblem } from "../check/operator-problem.ts";
import { type Build, explainBuild, findBuild, whyWorkerUnknown } from "./build.ts";
import { explainObject } from "./object.ts";
import { type Link, type WhyReport, whyLines } from "./report.ts";
import { readSnapshot, type Snapshot } from "./snapshot.ts";

const OF_CODERD = /^(workspace|build)\//;

export const why: Command = {
  name: "why",
  summary: "Explain why an object is not ready, or why a build waits",
  details:
    "Follows the causes down to the pod or the missing tag. To explain a workspace or a build, set CODER_URL and CODER_SESSION_TOKEN as for Coder's CLI; without them, the command shows what the control planes report about waiting builds. Exits with code 3 if there is a problem.",
  arguments: [
    {
      name: "object",
      summary: "kind/name or the name of an object, workspace/[owner/]name, or build/id",
      complete: completeObjects(),
    },
  ],
  examples: [
    { does: "Explain why a pool is not ready", line: "kubectl coder why provisioner/gpu -n coder" },
    {
      does: "Explain why a workspace does not start",
      line: "kubectl coder why workspace/alice/dev -n coder",
    },
  ],
  run: async (context, { arguments: [typed = ""] }) => {
    const report = await whyReport(context, typed);
    return answer(report, whyLines, exitOf(report));
  },
};

function exitOf({ chain, isKnown }: WhyReport): ExitCode {
  if (chain.length > 0) return EXIT.attention;
  return isKnown ? EXIT.fine : EXIT.failed;
}

/**
 * The causal chain behind the state of an object or a build. A missing operator comes before all other
 * causes.
 */
async function whyReport(context: Context, typed: string): Promise<WhyReport> {
  const cluster = await context.connect();
  if (OF_CODERD.test(typed)) return whyBuild(context, cluster, typed);
  const gaps = new Gaps();
  const found = await findObject(cluster, typed);
  const [snapshot, operator] = await Promise.all([
    readSnapshot(cluster, gaps, context.clock.now()),
    operatorLinks(cluster),
  ]);
  const name = typedName(found.kind, found.object.metadata);
  return reported(name, [...operator, ...explainObject(found, snapshot)], { gaps });
}

async function operatorLinks(cluster: Cluster): Promise<Link[]> {
  const problem = await operatorProblem(cluster);
  if (!problem) return [];
  const { object, reason, message, severity } = problem;
  return [{ depth: 0, object, state: reason, message, severity }];
}

async function whyBuild(context: Context, cluster: Cluster, typed: string): Promise<WhyReport> {
  if (typed.endsWith("/"))
    throw new CommandError(`"${typed}" is not valid; use workspace/[owner/]name or build/id.`, EXIT.usage);
  const gaps = new Gaps();
  const [snapshot, operator] = await Promise.all([
    readSnapshot(cluster, gaps, context.clock.now()),
    operatorLinks(cluster),
  ]);
  const coderd = personalCoderd(context);
  if (coderd) {
    const build = await findBuild(coderd, typed);
    return reported(typed, [...operator, ...explainBuild(typed, build, snapshot)], {
      gaps,
      unknown: whyUnknown(build, snapshot),
    });
  }
  gaps.add(
    "Set CODER_URL and CODER_SESSION_TOKEN to ask coderd about this build; the output covers all builds.",
  );
  const unknown = snapshot.isReadable
    ? "coderd was not asked, and no control plane reports a waiting build."
    : "some objects could not be read.";
  return reported(typed, [...operator, ...waitingBuilds(snapshot)], { gaps, unknown });
}

function whyUnknown(build: Build, snapshot: Snapshot): string | undefined {
  if (build.status === "unknown") return "coderd does not report its state.";
  return whyWorkerUnknown(build, snapshot);
}

/** Waiting builds that the control planes report, and problems of pools. */
function waitingBuilds(snapshot: Snapshot): Link[] {
  const all = snapshot.controlPlanes.flatMap((object) =>
    explainObject({ kind: CoderControlPlane, object }, snapshot),
  );
  return all.filter(({ state }) => state.startsWith("BuildsServed"));
}

interface Knowledge {
  readonly gaps: Gaps;
  /** Why an empty chain does not mean that there are no problems; absent if it does. */
  readonly unknown?: string | undefined;
}

function reported(subject: string, chain: readonly Link[], { gaps, unknown }: Knowledge): WhyReport {
  return { subject, answer: answerOf(chain, unknown), chain, isKnown: !unknown, gaps: gaps.lines };
}

/** The deepest cause of the first problem. The state of a pod is more precise than its last event. */
function answerOf(chain: readonly Link[], unknown: string | undefined): string {
  const causes = chain.filter(
    ({ object, state }) => !(object.startsWith("pod/") && state.startsWith("event ")),
  );
  const root = causes.find(({ depth }, index) => (causes[index + 1]?.depth ?? 0) <= depth);
  if (root) return `${root.object}: ${root.message ?? root.state}`;
  return unknown ? `Unknown: ${unknown}` : "No problems found.";
}
