import { existsSync } from "node:fs";
import { posix } from "node:path";
import { describe, expect, test } from "vitest";
import { sidebar } from "../../docs/.vitepress/sidebar.ts";
import { type Page, pages, prose, repository } from "./pages.ts";

describe.each(pages)("$path", (page) => {
  test("links to existing files and headings", () => {
    expect(linksOf(page).filter((target) => !isActive(target, page))).toEqual([]);
  });

  test("includes existing files", () => {
    const included = [...page.text.matchAll(/^<<< (\S+)|^<!--@include: ([^\s{]+)/gm)];
    const paths = included.map(([, snippet, markdown]) => resolve(snippet ?? markdown ?? "", page));
    expect(paths.filter((path) => !existsSync(repository + path))).toEqual([]);
  });
});

test("the sidebar has every page of the site, once", () => {
  const linked = sidebar.flatMap(({ items = [] }) => items.map(({ link }) => link)).sort();
  const present = pages
    .filter(({ path }) => path.startsWith("docs/"))
    .map(({ path }) => path.replace(/^docs/, "").replace(/(index)?\.md$/, ""))
    .sort();
  expect(linked).toEqual(present);
});

/** Targets within the repository, from links and images. */
function linksOf(page: Page): string[] {
  return [...prose(page).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = ""]) => target)
    .filter((target) => !/^https?:/.test(target));
}

function isActive(target: string, page: Page): boolean {
  const [file = "", anchor] = target.split("#");
  const path = file ? resolve(file, page) : page.path;
  if (anchor === undefined) return existsSync(repository + path);
  const linked = pages.find((other) => other.path === path);
  return linked !== undefined && anchorsOf(linked).includes(anchor);
}

function resolve(target: string, { path }: Page): string {
  return posix.join(posix.dirname(path), target);
}

/** As GitHub and VitePress both name the headings that we write. */
function anchorsOf(page: Page): string[] {
  return [...prose(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, "")
      .trim()
      .replaceAll(/\s+/g, "-"),
  );
}
