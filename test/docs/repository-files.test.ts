import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { repository } from "./pages.ts";

const read = (path: string) => readFileSync(join(repository, path), "utf8");

describe.each(globSync(".github/ISSUE_TEMPLATE/{bug,wish}.yml", { cwd: repository }))("%s", (path) => {
  const form: { name: string; description: string; body: { type: string; id?: string }[] } = parse(
    read(path),
  );

  test("is a form with a name, a description and questions of different ids", () => {
    expect(form).toMatchObject({ name: expect.any(String), description: expect.any(String) });
    const ids = form.body.filter(({ type }) => type !== "markdown").map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).not.toContain(undefined);
  });
});

test.each(["SECURITY.md", "CONTRIBUTING.md"])("%s links to existing files", (path) => {
  const targets = [...read(path).matchAll(/\]\((?!https?:)([^)#\s]+)/g)].map(([, target = ""]) => target);
  expect(targets.filter((target) => globSync(target, { cwd: repository }).length === 0)).toEqual([]);
});
