import { existsSync, globSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { commands } from "../../src/plugin/commands/all.ts";
import { repository } from "./pages.ts";

const files = globSync("{src,test,lab,packages,tools,config,demo,docs}/**/*", {
  cwd: repository,
  exclude: (path) => path.includes("node_modules"),
});
const sources = files
  .filter((path) => path.endsWith(".ts"))
  .map((path) => readFileSync(repository + path, "utf8"))
  .join("\n");

/** Code spans of a page that are files, folders or names of this project. */
function named(path: string): string[] {
  const text = readFileSync(repository + path, "utf8").replaceAll(/^```.*?^```$/gms, "");
  return [...text.matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code);
}

const isPath = (code: string) =>
  /^(src|test|lab|packages|tools|config|demo|docs)\/[\w./-]+$|^[\w/-]+(\.\w+)?\.ts$/.test(code);
const isActive = (path: string) =>
  existsSync(repository + path) || files.some((file) => file.endsWith(`/${path.replace(/\/$/, "")}`));

describe.each(["CONTRIBUTING.md", "ARCHITECTURE.md"])("%s", (path) => {
  test("names existing files and folders", () => {
    expect(named(path).filter((code) => isPath(code) && !isActive(code))).toEqual([]);
  });

  test("names existing functions and tables", () => {
    const names = named(path).filter((code) => /^([a-z]+[A-Z]\w+|OUR_[A-Z]+)(\(.*\))?$/.test(code));
    expect(names.filter((code) => !new RegExp(`\\b${code.replace(/\(.*/, "")}\\b`).test(sources))).toEqual(
      [],
    );
  });
});

test.each(commands)("docs/kubectl-coder.md has a section on `$name`", ({ name }) => {
  const page = readFileSync(`${repository}docs/kubectl-coder.md`, "utf8");
  const sections = [...page.matchAll(/^## (.*)$/gm)].flatMap(([, heading = ""]) => heading.split(", "));
  expect([...sections, "completion"]).toContain(name);
});
