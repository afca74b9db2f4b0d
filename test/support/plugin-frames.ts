import { fileURLToPath } from "node:url";

/** The page that shows what the plugin shows. */
export const PAGE = fileURLToPath(new URL("../../docs/kubectl-coder.md", import.meta.url));

/** A call of the plugin as a page has it: what was typed, and what the terminal showed. */
export interface Frame {
  readonly words: readonly string[];
  readonly text: string;
  /** The whole block, fences included. */
  readonly block: string;
}

export function framesOf(page: string): Frame[] {
  return [...page.matchAll(/^```text\n\$ kubectl coder ([^\n]+)\n(.*?)^```$/gms)].map(
    ([block, line = "", text = ""]) => ({
      words: line.split(" "),
      text,
      block,
    }),
  );
}

/** What is left of a frame when times, dates, sizes and counts of rights, which change with everything, are taken out. */
export function plainFrame(text: string): string {
  return text
    .replaceAll("\r", "")
    .replaceAll(/\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\dZ)?/g, (time) => time.replaceAll(/\d/g, "0"))
    .replaceAll(/^ *\d+ {2}(?=[\w.-]+(\/|\.json|\.yaml))/gm, "bytes  ")
    .replaceAll(/, \d+ bytes\./g, ", bytes.")
    .replaceAll(/^ *BYTES/gm, "BYTES")
    .replaceAll(/has all \d+ rights/g, "has all rights")
    .trimEnd();
}
