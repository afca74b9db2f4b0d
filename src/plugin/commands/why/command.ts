import { CoderControlPlane } from "../../../api/v1alpha1/kinds.ts";
import { personalCoderd } from "../../coderd.ts";
import { answer, type Command, type Context, EXIT, type ExitCode } from "../../command.ts";
import { Gaps } from "../../gaps.ts";
import { completeObjects, findObject, typedName } from "../../objects.ts";
import { explainBuild, findBuild } from "./build.ts";
import { explainObject } from "./object.ts";
import { type Link, type WhyReport, whyLines } from "./report.ts";
import { readScene, type Scene } from "./scene.ts";

const OF_CODERD = /^(workspace|build)\//;

export const why: Command = {
  name: "why",
  summary: "Explain why an object is not ready, or why a build waits, down to the pod or the missing tag",
  details:
    "About a workspace or a build, coderd is asked with CODER_URL and CODER_SESSION_TOKEN, as Coder's own command line is; without them, what the control planes report about waiting builds is shown. Exit code 3 when there is something to explain.",
  arguments: [
    {
      name: "object",
      summary: "kind/name or a name of ours, workspace/[owner/]name, or build/id",
      complete: completeObjects(),
    },
  ],
  examples: [
    { does: "Why is this pool not ready?", line: "kubectl coder why provisioner/gpu -n coder" },
    { does: "Why does my workspace not start?", line: "kubectl coder why workspace/alice/dev -n coder" },
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

/** The chain of causes behind the state of what the person names. */
async function whyReport(context: Context, typed: string): Promise<WhyReport> {
  const cluster = await context.connect();
  const gaps = new Gaps();
  if (!OF_CODERD.test(typed)) {
    const found = await findObject(cluster, typed);
    const scene = await readScene(cluster, gaps, context.clock.now());
    const name = typedName(found.kind, found.object.metadata);
    return reported(name, explainObject(found, scene), { gaps, isKnown: true });
  }
  const scene = await readScene(cluster, gaps, context.clock.now());
  const coderd = personalCoderd(context);
  const { isReadable: isKnown } = scene;
  if (coderd) {
    const build = await findBuild(coderd, typed);
    return reported(typed, explainBuild(typed, build, scene), { gaps, isKnown: true });
  }
  gaps.add(
    "Set CODER_URL and CODER_SESSION_TOKEN to ask coderd about this one; this is what is known of all builds.",
  );
  return reported(typed, waitingBuilds(scene), { gaps, isKnown });
}

/** What the control planes say about builds that wait, and what is wrong with pools. */
function waitingBuilds(scene: Scene): Link[] {
  const all = scene.controlPlanes.flatMap((object) =>
    explainObject({ kind: CoderControlPlane, object }, scene),
  );
  return all.filter(({ state }) => state.startsWith("BuildsServed"));
}

interface Knowledge {
  readonly gaps: Gaps;
  readonly isKnown: boolean;
}

function reported(subject: string, chain: readonly Link[], { gaps, isKnown }: Knowledge): WhyReport {
  return { subject, answer: answerOf(chain, isKnown), chain, isKnown, gaps: gaps.lines };
}

/** The first cause that nothing deeper explains. */
function answerOf(chain: readonly Link[], isKnown: boolean): string {
  const root = chain.find(({ depth }, index) => (chain[index + 1]?.depth ?? 0) <= depth);
  if (!root)
    return isKnown ? "Nothing is wrong that the cluster shows." : "Not known: too little could be read.";
  return `${root.object}: ${root.message ?? root.state}`;
}
