import { expect, test } from "vitest";
import { type Page, pages, prose } from "./pages.ts";

const references = pages.filter(({ path }) => /^docs\/reference\/(coder|common-fields)/.test(path));

/** Every field of our kinds, such as `spec.tls.secretNames`, of the reference pages that are made from the schema. */
const fields = new Set(
  references.flatMap(({ text }) =>
    [...text.matchAll(/^\| `((?:spec|status)\.[^`]+)`/gm)].map(([, path = ""]) => path),
  ),
);

function codesIn(text: string): string[] {
  return [...text.matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code);
}

function page(path: string): Page {
  const found = pages.find((other) => other.path === path);
  if (!found) throw new Error(`there is no page ${path}`);
  return found;
}

test.each(pages)("$path names fields that exist", (each) => {
  const named = codesIn(prose(each)).filter((code) => /^(spec|status)(\.\w+)+$/.test(code));
  expect(named.filter((path) => !fields.has(path))).toEqual([]);
});

test("the table of the charts' values leads to fields that exist", () => {
  const rows = [...page("docs/reference/chart-values.md").text.matchAll(/^\| `[^`]+` \| `([^`]+)` \|/gm)];
  const targets = rows.map(([, path = ""]) => path);
  expect(targets.length).toBeGreaterThan(60);
  expect(targets.filter((path) => !fields.has(`spec.${path}`))).toEqual([]);
});
