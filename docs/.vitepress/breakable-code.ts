import type { MarkdownRenderer } from "vitepress";

/** Lets field paths and names of variables break after a dot or an underscore, so that tables fit. */
export function breakableCode(markdown: MarkdownRenderer): void {
  const { rules } = markdown.renderer;
  const plain = rules.code_inline;
  rules.code_inline = (...args) =>
    (plain?.(...args) ?? "").replace(/>.*</s, (content) =>
      content.replaceAll(/(?<=\w)[._](?=\w)/g, "$&<wbr>"),
    );
}
