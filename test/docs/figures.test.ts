import { globSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { markdown } from "../../bench/report.ts";
import { controlPlaneConditions } from "../../src/operator/conditions.ts";
import { lacking } from "../../src/plugin/commands/check/pods.ts";
import { pages, repository } from "./pages.ts";

const textOf = (path: string) => pages.find((page) => page.path === path)?.text ?? "";
const source = (path: string) => readFileSync(repository + path, "utf8");
const numbers = (text: string, pattern: RegExp) =>
  new Set([...text.matchAll(pattern)].map(([, figure]) => Number(figure)));

/** Alerts that count days, with the days of their expressions. */
const alerts = (
  parse(source("charts/coder-k8s/files/alerts.yaml")).groups as { rules: { alert: string; expr: string }[] }[]
)
  .flatMap(({ rules }) => rules)
  .map(({ alert, expr }) => ({ alert, days: numbers(expr, /(\d+) \* 24 \* 3600/g) }))
  .filter(({ days }) => days.size > 0);

describe("days that an alert counts", () => {
  test("are there at all", () => expect(alerts.length).toBeGreaterThan(2));

  test.each(alerts)("$alert: page and runbook say what its expression says", ({ alert, days }) => {
    const row = textOf("docs/monitoring.md").match(new RegExp(`^\\| \\[${alert}\\].*$`, "m"))?.[0] ?? "";
    const runbook = textOf("docs/runbooks.md").split(`## ${alert}\n`).at(1) ?? "";
    const meaning = /\*\*Meaning\*\*:[^.]*/.exec(runbook)?.[0] ?? "";
    expect(numbers(row, /within (\d+)/g)).toEqual(days);
    expect(numbers(meaning, /within\s+(\d+)/g)).toEqual(days);
  });

  test("are on no other page, which would become outdated", () => {
    const others = pages.filter(
      ({ path, text }) =>
        !["docs/monitoring.md", "docs/runbooks.md", "CHANGELOG.md"].includes(path) &&
        /\balerts?\b[^.\n]*\d+ days/i.test(text),
    );
    expect(others.map(({ path }) => path)).toEqual([]);
  });
});

test("the docs and the code agree on the days before ExpiresSoon", () => {
  const days = numbers(source("src/operator/control-plane/license/verdict.ts"), /SOON_MS = (\d+) \* DAY_MS/g);
  expect(days.size).toBe(2);
  const rows = pages.flatMap(({ text }) => text.match(/^\| `ExpiresSoon` .*days.*$/gm) ?? []);
  expect(rows.length).toBeGreaterThan(0);
  for (const row of rows) expect(numbers(row, /fewer than (\d+)/g)).toEqual(days);
});

test("the docs and the code agree on the days before TokenExpiresSoon", () => {
  const days = numbers(source("src/operator/coderd/token-end.ts"), /SOON_MS = (\d+) \* DAY_MS/g);
  expect(days.size).toBe(1);
  const sentences = pages.flatMap(
    ({ path, text }) =>
      (path === "CHANGELOG.md" ? [] : text.replaceAll(/\s+/g, " ").match(/[^.|]*`TokenExpiresSoon`[^.]*/g)) ??
      [],
  );
  const figures = sentences
    .map((sentence) => numbers(sentence, /(\d+) days/g))
    .filter(({ size }) => size > 0);
  expect(figures.length).toBeGreaterThan(1);
  for (const figure of figures) expect(figure).toEqual(days);
});

test("every manifest of a control plane has resources and a security context, as `kubectl coder check` recommends", () => {
  const files = globSync(["config/samples/*.yaml", "examples/**/*.yaml"], { cwd: repository });
  const bare = files.filter((file) =>
    parseAllDocuments(source(file)).some((document) => {
      const object = document.toJS();
      return object?.kind === "CoderControlPlane" && lacking(object).length > 0;
    }),
  );
  expect(files.length).toBeGreaterThan(20);
  expect(bare).toEqual([]);
});

test("what becomes of a token that can't be revoked is on one page", () => {
  const telling = pages.filter(
    ({ path, text }) => /^docs\/(?!reference\/)/.test(path) && /tokens_left_behind/.test(text),
  );
  expect(telling.map(({ path }) => path)).toEqual(["docs/operator-access.md"]);
});

test.each(["codercontrolplanes", "coderprovisioners"])("the README shows the columns of %s", (plural) => {
  const { spec } = parse(source(`config/crd/coder.com_${plural}.yaml`));
  const columns: { name: string; priority?: number }[] = spec.versions[0].additionalPrinterColumns;
  const shown = columns.filter(({ priority }) => !priority).map(({ name }) => name.toUpperCase());
  const row = `^NAME +${shown.join(" +")}\n${spec.names.singular}\\.coder\\.com/`;
  expect(textOf("README.md")).toMatch(new RegExp(row, "m"));
});

test("the five-minute start shows the conditions of a control plane", () => {
  const [table = ""] = /^ {2}✓ CoderControlPlane.*(?:\n {4}✓.*)*/m.exec(textOf("docs/start.md")) ?? [];
  const shown = [...table.matchAll(/✓ (\w+)(?!\S)/g)].map(([, type]) => type).slice(1);
  expect(shown.length).toBeGreaterThan(5);
  const known: string[] = Object.values(controlPlaneConditions).map(({ type }) => type);
  expect(shown.filter((type) => !known.includes(type ?? ""))).toEqual([]);
});

test("the figures of the performance page are those that `make bench` took last", () => {
  expect(textOf("docs/performance.md")).toContain(
    markdown(JSON.parse(source("bench/results.json")).results).trim(),
  );
});

test("the page about upgrades has the downtimes that the performance page measured on a real node", () => {
  const runs = [...textOf("docs/performance.md").matchAll(/^\| \d(?:, [^|]*)? \| ([\d.]+) s \|(.+)$/gm)];
  const downtimes = runs.map(([, seconds]) => Number(seconds));
  const upgrade = textOf("docs/how-to/upgrade-coder.md");
  const [, shortest, longest] = /took ([\d.]+) to ([\d.]+) s/.exec(upgrade) ?? [];
  expect([Number(shortest), Number(longest)]).toEqual([Math.min(...downtimes), Math.max(...downtimes)]);
  const [, shown = "", parts = ""] = runs[0] ?? [];
  expect(upgrade).toContain(`took ${shown} s without service`);
  const shownParts = [...upgrade.matchAll(/^\| .* \| ([\d.]+ s) \|$/gm)].map(([, seconds]) => seconds);
  expect(shownParts).toEqual(parts.match(/[\d.]+ s/g));
});

test("the page on sizing has the resources of the chart", () => {
  const { requests, limits } = parse(source("charts/coder-k8s/values.yaml")).resources;
  expect(textOf("docs/sizing.md").replaceAll(/\s+/g, " ")).toContain(
    `The chart requests ${requests.cpu} CPU and ${requests.memory}, with a limit of ${limits.memory}.`,
  );
});

test.each(["--reset-then-reuse-values", "--take-ownership"])(
  "the version of Helm 3 that has %s is on one page",
  (flag) => {
    const telling = pages.filter(({ text }) => new RegExp(`\`${flag}\`[^.|]* 3\\.\\d+`).test(text));
    expect(telling.map(({ path }) => path)).toEqual(["docs/versions.md"]);
  },
);

test("no page asks to create an object for which there is a field", () => {
  const asking = pages.filter(({ text }) => /^kind: PodDisruptionBudget$/m.test(text));
  expect(asking.map(({ path }) => path)).toEqual([]);
});

describe("what operator access does", () => {
  const sentence =
    "By default the operator writes to Coder's database: it creates a system user with the role owner, and an API token for it.";
  const said = (text: string) => text.replaceAll(/\s+/g, " ");

  test.each([
    "README.md",
    "docs/index.md",
    "docs/start.md",
    "docs/operator-access.md",
    "docs/tutorials/from-zero.md",
    "docs/tutorials/from-the-helm-charts.md",
    "docs/tutorials/from-the-go-operator.md",
    "docs/how-to/import-helm.md",
  ])("is said in the same sentence on %s, with the way to the page on it", (path) => {
    const text = said(textOf(path));
    expect(text).toContain(sentence);
    if (path !== "docs/operator-access.md")
      expect(text).toMatch(/\[Operator access\]\((\.\.\/|docs\/)?operator-access\.md\)/);
  });

  test("and in the manifest that an import prints", () => {
    expect(source("src/plugin/commands/import-helm/format.ts")).toContain(sentence);
  });
});
