import { stringify } from "yaml";
import type { BrokenObject } from "./cases.ts";

const WIDTH = 26;

/** The page about broken objects, from what `kubectl describe` printed of each. */
export function page(described: readonly { readonly broken: BrokenObject; readonly text: string }[]): string {
  const sections = described.map(({ broken, text }) =>
    [`## ${broken.title}`, block("yaml", manifest(broken)), block("text", text), broken.remedy].join("\n\n"),
  );
  const intro =
    "Excerpts of `kubectl describe` for objects that do not work, with the conditions and the event that say why (`…` is the\nmessage of a condition), and the solution. `Ready` repeats the first condition that is part of it. A test breaks these objects\non a real API server and writes this page. [Conditions and reasons](conditions.md) explains all reasons.";
  return `${["# Broken objects", intro, ...sections].join("\n\n")}\n`;
}

function manifest({ kind, name, spec }: BrokenObject): string {
  return stringify({ apiVersion: "coder.com/v1alpha1", kind, metadata: { name }, spec });
}

function block(language: string, text: string): string {
  return `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;
}

/** Cuts the output to what says why, and takes out what differs each time. */
export function excerpt(output: string, { shows, reason }: BrokenObject, namespace: string): string {
  const lines = output.replaceAll(namespace, "coder").split("\n");
  const from = (text: RegExp) => lines.findIndex((line) => text.test(line));
  const head = lines.filter((line) => /^(Name|Namespace|Kind):/.test(line));
  const conditions = conditionsIn(lines.slice(from(/^ {2}Conditions:/) + 1));
  const shown = shows.flatMap((type) => conditions.find((condition) => condition.type === type)?.lines ?? []);
  const events = eventsIn(lines.slice(from(/^Events:/) + 1)).filter((event) => event.reason === reason);
  const [event] = events;
  const isRepeated = event && shown.some((line) => line.endsWith(event.message));
  const table = event
    ? ["Events:", `  ${event.kind}  ${event.reason}  ${isRepeated ? "…" : event.message}`]
    : [];
  return [...head, "Status:", "  Conditions:", ...shown, ...table].join("\n");
}

function conditionsIn(lines: readonly string[]): { type: string; lines: string[] }[] {
  const found: { type: string; lines: string[] }[] = [];
  let current: string[] = [];
  for (const line of lines) {
    if (!line.startsWith("    ")) break;
    if (!/^ {4}(Last Transition Time|Observed Generation):/.test(line)) current.push(aligned(line));
    const [, type] = /^ {4}Type: +(\w+)$/.exec(line) ?? [];
    if (!type) continue;
    found.push({ type, lines: current });
    current = [];
  }
  return found;
}

/** Columns are as wide as the longest name in the status, which may come later. */
function aligned(line: string): string {
  return line.replace(/^( {4}[A-Z][A-Za-z ]*:) +/, (_, name: string) => `${name.padEnd(WIDTH)} `);
}

/** The columns of events are as wide as their contents, among which are ages, so they are taken apart. */
function eventsIn(lines: readonly string[]): { kind: string; reason: string; message: string }[] {
  return lines.flatMap((line) => {
    const [, kind, reason, message] =
      /^ +(Normal|Warning) +(\w+) +\S+(?: \(x.*?\))? +\S+ +(.*)$/.exec(line) ?? [];
    return kind && reason && message ? [{ kind, reason, message }] : [];
  });
}
