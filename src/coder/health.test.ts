import { describe, expect, test } from "vitest";
import { loadRecording } from "../../test/contract/coderd-recordings.ts";
import { UnexpectedShape } from "./decode.ts";
import { healthReport } from "./health.ts";

const time = "2026-01-01T00:00:00Z";
const read = (body: object) => healthReport({ time, ...body }, "").findings;

test("the report of a real coderd without daemons has one finding", () => {
  const { response } = loadRecording("debug-health");
  expect(healthReport(response.body, "")).toEqual({
    findings: [{ section: "provisioner_daemons", code: "EPD01", isError: true }],
    madeAt: Date.parse("2026-11-15T02:57:37.072Z"),
  });
});

test("an error starts with its code, as in the real coderd", () => {
  const error =
    'EACS03: get healthz endpoint: Get "http://coder.example/healthz": dial tcp: lookup: no such host';
  expect(read({ access_url: { severity: "error", error, warnings: [], dismissed: false } })).toEqual([
    { section: "access_url", code: "EACS03", isError: true },
  ]);
});

describe("of a section", () => {
  test("the codes of its error and its warnings count, each once", () => {
    const warnings = [
      { code: "EWP04", message: "a" },
      { code: "EWP04", message: "b" },
    ];
    const workspace_proxy = { severity: "error", error: "EWP02: fetch", warnings };
    expect(read({ workspace_proxy })).toEqual([
      { section: "workspace_proxy", code: "EWP02", isError: true },
      { section: "workspace_proxy", code: "EWP04", isError: true },
    ]);
  });

  test("nothing counts while it is ok, or after users have dismissed it", () => {
    const warnings = [{ code: "EDB02", message: "" }];
    expect(read({ database: { severity: "ok", warnings } })).toEqual([]);
    expect(read({ database: { severity: "error", warnings, dismissed: true } })).toEqual([]);
  });

  test.each([
    ["without any text", { warnings: null }],
    ["with an error in words", { error: "error fetching provisioner daemons: no" }],
    ["with a warning without a code", { warnings: [{ message: "no" }] }],
    ["with a code that is none", { warnings: [{ code: '<b>"\n'.repeat(9_000) }] }],
  ])("a fault %s is known by no code", (_, texts) => {
    expect(read({ database: { severity: "warning", ...texts } })).toEqual([
      { section: "database", code: "EUNKNOWN", isError: false },
    ]);
  });

  test("no more than ten codes are kept", () => {
    const warnings = Array.from({ length: 5_000 }, (_, index) => ({ code: `EX${index % 9_999}` }));
    expect(read({ derp: { severity: "error", warnings } })).toHaveLength(10);
  });
});

test.each([
  ["no report", 42],
  ["without a time", { database: { severity: "ok" } }],
  ["whose section is a text", { time, database: "fine" }],
  ["whose severity is missing", { time, database: { warnings: [] } }],
])("an answer %s is refused", (_, body) => {
  expect(() => healthReport(body, "")).toThrow(UnexpectedShape);
});
