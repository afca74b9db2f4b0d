import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The root of the repository, with a slash at the end. */
export const repository = fileURLToPath(new URL("../../", import.meta.url));

/** A Markdown file that readers see. */
export interface Page {
  /** Relative to the repository. */
  readonly path: string;
  readonly text: string;
}

/** What stands between two fences. */
export interface Block {
  readonly page: string;
  /** Of the opening fence, counted from 1. */
  readonly line: number;
  readonly language: string;
  readonly text: string;
}

export const pages: readonly Page[] = [
  "README.md",
  "examples/README.md",
  ...globSync("docs/**/*.md", { cwd: repository }),
]
  .filter((path) => !path.includes("/.vitepress/"))
  .sort()
  .map((path) => ({ path, text: readFileSync(repository + path, "utf8") }));

export const blocks: readonly Block[] = pages.flatMap(blocksOf);

function blocksOf({ path, text }: Page): Block[] {
  return [...text.matchAll(/^( *)```(\w*)[^\n]*\n(.*?)^\1```$/gms)].map((match) => {
    const [, indent = "", language = "", content = ""] = match;
    return {
      page: path,
      line: text.slice(0, match.index).split("\n").length,
      language,
      text: content.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
    };
  });
}

/** A page without what stands between fences. */
export function prose({ text }: Page): string {
  return text.replaceAll(/^( *)```.*?^\1```$/gms, "");
}
