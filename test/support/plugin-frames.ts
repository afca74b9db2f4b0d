import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** The pages that show what the plugin shows. */
const PAGES = ["kubectl-coder.md", "how-to/import-helm.md", "how-to/assistants.md"].map((page) =>
  fileURLToPath(new URL(`../../docs/${page}`, import.meta.url)),
);

/** A call of the plugin as a page has it: what was typed, and what the terminal showed. */
export interface Frame {
  readonly page: string;
  /** What was typed after `kubectl coder`. */
  readonly line: string;
  readonly text: string;
}

const BLOCK = /^```text\n\$ kubectl coder ([^\n]+)\n(.*?)^```$/gms;

export async function readFrames(): Promise<Frame[]> {
  const frames = PAGES.map(async (page) => {
    const blocks = (await readFile(page, "utf8")).matchAll(BLOCK);
    return [...blocks].map(([, line = "", text = ""]) => ({ page, line, text }));
  });
  return (await Promise.all(frames)).flat();
}

/** Writes into the pages what the terminal showed for each line. */
export async function renewFrames(shown: ReadonlyMap<string, string>): Promise<void> {
  for (const page of PAGES) {
    const text = await readFile(page, "utf8");
    const renewed = text.replace(BLOCK, (block, line: string) => {
      const frame = shown.get(line);
      return frame === undefined ? block : `\`\`\`text\n$ kubectl coder ${line}\n${frame.trimEnd()}\n\`\`\``;
    });
    if (renewed !== text) await writeFile(page, renewed);
  }
}

/** What random names consist of. */
const RANDOM = "[bcdfghjklmnpqrstvwxz2456789]";

/** What is left of a frame without what differs from run to run: times, sizes, random names, and which events came last. */
export function plainFrame(text: string): string {
  const lines = text
    .replaceAll(/\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\dZ)?/g, (time) => time.replaceAll(/\d/g, "0"))
    .replaceAll(new RegExp(`-${RANDOM}{6,10}(-${RANDOM}{5})?(?=[^a-z0-9])`, "g"), "-random")
    .replaceAll(/\bfor \d+[smhd]\b/g, "for a while")
    .replaceAll(/"[^"]+"(\s+)holds the Lease, renewed\s+\d+s\s+ago/g, "a replica holds the Lease")
    .replaceAll(/^ *\d+ {2}(?=[\w.-]+(\/|\.json|\.yaml))/gm, "bytes  ")
    .replaceAll(/: \d+ files, \d+ bytes\./g, ": files, bytes.")
    .replaceAll(/^ *BYTES/gm, "BYTES")
    .replaceAll(/\d+(?=\s+rights)/g, "all")
    .replaceAll(/(?<=coder-k8s:|of version )\d+\.\d+\.\d+/g, "version")
    .replace(/^EVENTS\n( +AGE +OBJECT +REASON +MESSAGE\n)( +\d+[smhd] {2}.*\n)+/m, "EVENTS\n")
    .trimEnd()
    .split("\n");
  // Pods of one Deployment now have the same name, and their number depends on the time.
  return lines.filter((line, index) => line !== lines[index - 1]).join("\n");
}
