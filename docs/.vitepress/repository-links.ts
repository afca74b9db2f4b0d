import { posix } from "node:path";
import type { MarkdownRenderer } from "vitepress";
import type { Repository } from "./repository.ts";

/**
 * Pages link to files of the repository, which the site does not have. There such a link leads to the repository
 * on the web; if its address is unknown, it is shown as its text, with the path as a tooltip.
 */
export function repositoryLinks(markdown: MarkdownRenderer, repository: Repository | undefined): void {
  markdown.core.ruler.push("repository-links", ({ tokens, env }) => {
    for (const { children } of tokens) {
      let outside = false;
      for (const token of children ?? []) {
        if (token.type === "image") token.attrSet("src", withinSite(token.attrGet("src") ?? ""));
        if (token.type === "link_open") token.attrSet("href", withinSite(token.attrGet("href") ?? ""));
        const path = token.type === "link_open" && outsidePath(token.attrGet("href") ?? "", env.relativePath);
        if (path && repository) token.attrSet("href", repository.file(path));
        else if (path) {
          outside = true;
          token.attrs = [["title", `${path}, in the repository`]];
        }
        if (!outside || !/^link_(open|close)$/.test(token.type)) continue;
        outside = token.type === "link_open";
        token.type = "repository_link";
        token.tag = "span";
      }
    }
  });
}

/** Pages at the root of the repository, which the site includes, name its images and pages from there. */
function withinSite(path: string): string {
  return path.startsWith("docs/") ? `./${path.slice("docs/".length)}` : path;
}

/** Where in the repository a link leads, if that is outside the site. */
function outsidePath(href: string, page: string): string | undefined {
  if (/^([a-z]+:|\/|#)/.test(href)) return undefined;
  const path = posix.join("docs", posix.dirname(page), href);
  return path.startsWith("docs/") ? undefined : path;
}
