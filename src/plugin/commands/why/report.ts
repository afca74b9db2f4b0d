import { gapLines, mark, paragraph } from "../../terminal/lines.ts";
import type { OutputStyle } from "../../terminal/output-style.ts";
import { type Line, span } from "../../terminal/text.ts";

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
export function whyLines({ subject, answer, chain, isKnown, gaps }: WhyReport, style: OutputStyle): Line[] {
  const body =
    chain.length === 0
      ? [[mark(isKnown ? "good" : "unknown", style), span(` ${subject}: ${answer}`)]]
      : [[span(subject, "bold")], ...chain.flatMap((link) => linkLines(link, style))];
  return [...body, ...gapLines(gaps, style)];
}

function linkLines({ depth, object, state, message, severity }: Link, style: OutputStyle): Line[] {
  const indent = "   ".repeat(depth);
  const branch = style.unicode ? "└─ " : "`- ";
  const head = [
    span(`${indent}${branch}`, "dim"),
    mark(severity, style),
    span(` ${object}`, "bold"),
    span(` ${state}`),
  ];
  return [head, ...(message ? paragraph(message, style, `${indent}     `) : [])];
}
