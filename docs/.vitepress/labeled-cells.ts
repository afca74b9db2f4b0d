import type { MarkdownRenderer } from "vitepress";

/** From as many columns on, a phone shows each row as a list of its cells instead. */
const WIDE = 3;

/** Gives the cells of wide tables the titles of their columns, for the style of phones. */
export function labeledCells(markdown: MarkdownRenderer): void {
  markdown.core.ruler.push("labeled-cells", ({ tokens }) => {
    for (const [index, table] of tokens.entries()) {
      if (table.type !== "table_open") continue;
      const inside = tokens.slice(
        index,
        tokens.findIndex(({ type }, at) => at > index && type === "table_close"),
      );
      const titles = inside.flatMap(({ type }, at) =>
        type === "th_open" ? [inside[at + 1]?.children?.map(({ content }) => content).join("") ?? ""] : [],
      );
      if (titles.length < WIDE) continue;
      const cells = inside.filter(({ type }) => type === "td_open");
      for (const [at, cell] of cells.entries()) cell.attrSet("data-title", titles[at % titles.length] ?? "");
    }
  });
}
