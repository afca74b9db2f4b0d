import { answer, type Command, type Context, EXIT, type ExitCode } from "../../command.ts";
import { Gaps } from "../../gaps.ts";
import { assertNamespace } from "../../namespace.ts";
import { gapLines, mark, paragraph } from "../../terminal/lines.ts";
import type { OutputStyle } from "../../terminal/output-style.ts";
import { type Line, span } from "../../terminal/text.ts";
import {
  complaintFinding,
  crdFinding,
  deprecationFinding,
  finalizerFindings,
  limitedBy,
  ourObjects,
} from "./api.ts";
import { findOperators, operatorFindings } from "./operator.ts";
import { permissionsFinding } from "./permissions.ts";
import { podFinding } from "./pods.ts";
import { replicaFindings } from "./replica-network.ts";
import { type CheckReport, finding } from "./report.ts";

export const check: Command = {
  name: "check",
  summary: "Check the installation: the operator, its rights, the CRDs, deprecated fields, pods, finalizers",
  details:
    "Checks all namespaces, or the one given by -n. Checks that you may not perform are listed. Exits with code 3 if there are problems.",
  flags: [
    {
      flags: "--operator-namespace <name>",
      summary: "namespace of the operator; defaults to searching all namespaces",
    },
  ],
  isForAllNamespaces: true,
  examples: [
    { does: "Check that the operator is healthy and has its permissions", line: "kubectl coder check" },
    {
      does: "Find deletions that would hang after uninstalling the operator",
      line: "kubectl coder check -o json",
    },
  ],
  run: async (context, { flags }) => {
    const { operatorNamespace: namespace } = flags;
    const report = await checkReport(context, typeof namespace === "string" ? namespace : undefined);
    return answer(report, checkLines, exitOf(report));
  },
};

const UNSEEN = finding("Operator installed", "unknown", "The operator's Deployment could not be read.");

async function checkReport(context: Context, operatorNamespace: string | undefined): Promise<CheckReport> {
  const cluster = await context.connect();
  await assertNamespace(cluster);
  const gaps = new Gaps();
  const operators = await findOperators(cluster, gaps, operatorNamespace);
  const now = cluster.now();
  const [operator] = operators ?? [];
  const [installed, rights, crds, { objects, visibility }] = await Promise.all([
    operators ? operatorFindings(operator, cluster, { gaps, now, version: context.version }) : [UNSEEN],
    operator ? [await permissionsFinding(operator, cluster, gaps)] : [],
    crdFinding(cluster, operator, gaps),
    ourObjects(cluster, gaps, cluster.chosenNamespace),
  ]);
  const count = operators?.length ?? 0;
  const message = `There are ${count} operators; only the first was checked. Select one with --operator-namespace.`;
  const several = count > 1 ? [finding("One operator", "note", message)] : [];
  const ofObjects = [
    complaintFinding(objects),
    deprecationFinding(objects),
    podFinding(objects),
    ...(await replicaFindings(objects, cluster, gaps)),
    ...finalizerFindings(objects, now),
  ];
  const seen = ofObjects.map((each) => limitedBy(each, visibility));
  return { findings: [...several, ...installed, ...rights, crds, ...seen], gaps: gaps.lines };
}

function exitOf({ findings }: CheckReport): ExitCode {
  if (findings.every(({ verdict }) => verdict === "unknown")) return EXIT.failed;
  return findings.some(({ verdict }) => verdict === "wrong") ? EXIT.attention : EXIT.fine;
}

const MOODS = { good: "good", wrong: "wrong", unknown: "unknown", note: "waiting" } as const;

function checkLines({ findings, gaps }: CheckReport, style: OutputStyle): Line[] {
  const width = Math.max(...findings.map(({ what }) => what.length)) + 2;
  const lines = findings.flatMap(({ what, verdict, message }) => {
    const sign = mark(MOODS[verdict], style);
    const indent = " ".repeat(sign.text.length + 1 + width);
    const [first, ...rest] = paragraph(message, style, indent);
    const text = first?.map(({ text: all }) => all.trimStart()).join("") ?? "";
    return [[sign, span(` ${what.padEnd(width)}`, "bold"), span(text)], ...rest];
  });
  return [...lines, ...gapLines(gaps, style)];
}
