import { gapLines, mark, paragraph } from "../../terminal/lines.ts";
import type { OutputStyle } from "../../terminal/output-style.ts";
import { type Line, span } from "../../terminal/text.ts";

/** A link of the causal chain; deeper links are its causes. */
export interface Link {
  readonly depth: number;
  /** `kind/name` of what it is about. */
  readonly object: string;
  /** A few words. */
  readonly state: string;
  /** Sentences that say what to do. */
  readonly message?: string;
  readonly severity: "wrong" | "waiting";
}

export interface WhyReport {
  readonly subject: string;
  /** The answer in one sentence. */
  readonly answer: string;
  /** From the object in question down to the causes. */
  readonly chain: readonly Link[];
  /** False if too little could be read to conclude that there are no problems. */
  readonly isKnown: boolean;
  readonly gaps: readonly string[];
}

/** The object in question, and below it the causal chain. */
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
