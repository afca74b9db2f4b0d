import type { Look } from "../../terminal/look.ts";
import { type Line, span } from "../../terminal/text.ts";
import { gapLines, mark, paragraph } from "../../terminal/words.ts";
import type { Link, WhyReport } from "./report.ts";

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
