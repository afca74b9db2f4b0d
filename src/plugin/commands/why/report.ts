import type { Look } from "../../terminal/look.ts";
import { type Line, span } from "../../terminal/text.ts";
import { gapLines, mark, paragraph } from "../../terminal/words.ts";

/** One thing that is so because of the next deeper ones. */
export interface Link {
  readonly depth: number;
  /** `kind/name` of what it is about. */
  readonly object: string;
  /** In a few words. */
  readonly state: string;
  /** In sentences, with what to do. */
  readonly message?: string;
  readonly severity: "wrong" | "waiting";
}

export interface WhyReport {
  readonly subject: string;
  /** The answer in one sentence. */
  readonly answer: string;
  /** From what was asked about down to the causes. */
  readonly chain: readonly Link[];
  /** False when too little could be read to say that nothing is wrong. */
  readonly isKnown: boolean;
  readonly gaps: readonly string[];
}

/** What was asked about, and below it what is so because of what. */
export function whyLines({ subject, answer, chain, isKnown, gaps }: WhyReport, look: Look): Line[] {
  const body =
    chain.length === 0
      ? [[mark(isKnown ? "good" : "unknown", look), span(` ${subject}: ${answer}`)]]
      : [[span(subject, "bold")], ...chain.flatMap((link) => linkLines(link, look))];
  return [...body, ...gapLines(gaps, look)];
}

function linkLines({ depth, object, state, message, severity }: Link, look: Look): Line[] {
  const indent = "   ".repeat(depth);
  const branch = look.unicode ? "└─ " : "`- ";
  const head = [
    span(`${indent}${branch}`, "dim"),
    mark(severity, look),
    span(` ${object}`, "bold"),
    span(` ${state}`),
  ];
  return [head, ...(message ? paragraph(message, look, `${indent}     `) : [])];
}
