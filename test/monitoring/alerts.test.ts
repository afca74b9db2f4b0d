import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { prometheusBinaries } from "../../tools/prometheus/binaries.ts";
import { chartDir } from "../support/helm.ts";
import { type Alert, alerts } from "../support/monitoring.ts";
import { alertCases } from "./alert-cases.ts";
import { type AlertCase, paused, type Series } from "./alert-series.ts";

const RULES = join(chartDir, "files/alerts.yaml");
/** Minutes for which all is well first, and again at the end: longer than any window that a rule looks back. */
const WELL = 30;
/** The longest window of a rule, in minutes. */
const WINDOW = 10;

let promtool: string;
let dir: string;
beforeAll(async () => {
  promtool = (await prometheusBinaries()).promtool;
  dir = await mkdtemp(join(tmpdir(), "coder-k8s-promtool-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

test("every alert of the chart has a case", () => {
  expect(alertCases.map(({ alert }) => alert)).toEqual(alerts.map(({ alert }) => alert));
});

test("promtool finds no fault with the rules", async () => {
  const { stdout } = await promisify(execFile)(promtool, [
    "check",
    "rules",
    "--lint=all",
    "--lint-fatal",
    RULES,
  ]);
  expect(stdout).toContain(`SUCCESS: ${alerts.length} rules found`);
});

describe.each(alertCases)("$alert", (alertCase) => {
  const rule = alerts.find(({ alert }) => alert === alertCase.alert);
  if (rule === undefined) throw new Error(`there is no alert ${alertCase.alert}`);
  const wait = minutesOf(rule.for);
  const wrong = wait + WINDOW + 5;

  test("is silent while all is well and something harmless looks alike", () =>
    passes(alertCase, { wrong: 0, expected: [{ minute: 0 }, { minute: WELL }, { minute: 2 * WELL }] }));

  test("is silent if the fault ends before the alert is due", () =>
    passes(alertCase, {
      wrong: 2,
      expected: minutes(WELL, WELL + wait + WINDOW).map((minute) => ({ minute })),
    }));

  test("fires once the fault has lasted, for what it is about, in words that name it", () =>
    passes(alertCase, {
      wrong,
      expected: [{ minute: WELL + wait - 1 }, { minute: WELL + wrong - 1, fires: rule }],
    }));

  test("resolves when the fault is over", () =>
    passes(alertCase, {
      wrong,
      expected: [{ minute: WELL + wrong - 1, fires: rule }, { minute: WELL + wrong + WINDOW + 1 }],
    }));
});

const aboutObjects = alertCases.filter(({ labels, evenPaused }) => labels.kind && !evenPaused);

test.each(aboutObjects)("$alert is silent about a paused object", (alertCase) => {
  const { kind = "", namespace = "", name = "" } = alertCase.labels;
  const series = [...alertCase.series, paused({ kind, namespace, name })];
  return passes({ ...alertCase, series }, { wrong: 2 * WELL, expected: [{ minute: 3 * WELL - 1 }] });
});

interface Timeline {
  /** For how many minutes something is wrong. */
  readonly wrong: number;
  /** At which minutes to look, and which alert must be seen. */
  readonly expected: readonly { readonly minute: number; readonly fires?: Alert }[];
}

/** Has promtool evaluate the rules over a time line; fails with its words. */
async function passes(alertCase: AlertCase, { wrong, expected }: Timeline): Promise<void> {
  const file = join(dir, `${alertCase.alert}.json`);
  const test = {
    name: alertCase.alert,
    interval: "1m",
    input_series: [...alertCase.series, ...alertCase.harmless].map((series) => ({
      series: series.series,
      values: samples(series, wrong).join(" "),
    })),
    alert_rule_test: expected.map(({ minute, fires }) => ({
      eval_time: `${minute}m`,
      alertname: alertCase.alert,
      exp_alerts: fires ? [firing(alertCase, fires, minute)] : [],
    })),
  };
  await writeFile(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: "1m", tests: [test] }));
  await promisify(execFile)(promtool, ["test", "rules", file]).catch((error) => {
    throw new Error(`${error.stdout}\n${error.stderr}`);
  });
}

/** One for every minute; what is missing after it was there has gone, as at a scrape. */
function samples({ well, wrong: value, counter }: Series, wrong: number): string[] {
  let total = 0;
  let wasThere = false;
  return minutes(0, 2 * WELL + wrong).map((minute) => {
    const now = minute >= WELL && minute < WELL + wrong ? value : well;
    const gone = wasThere ? "stale" : "_";
    wasThere = now !== undefined;
    if (now === undefined) return gone;
    total += now;
    return String(counter ? total : now);
  });
}

function firing({ labels, value }: AlertCase, rule: Alert, minute: number): object {
  const text = (template: string) =>
    template
      .replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, label: string) => labels[label] ?? "")
      .replaceAll(/\{\{ \$value( \| \w+)? \}\}/g, () => value?.(minute) ?? "");
  return {
    exp_labels: { ...labels, ...rule.labels },
    exp_annotations: Object.fromEntries(
      Object.entries(rule.annotations).map(([name, template]) => [name, text(template)]),
    ),
  };
}

function minutesOf(duration: string): number {
  const [, count, unit] = /^(\d+)([mh])$/.exec(duration) ?? [];
  return Number(count) * (unit === "h" ? 60 : 1);
}

function minutes(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}
