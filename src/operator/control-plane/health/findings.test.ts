import { describe, expect, test } from "vitest";
import type { HealthFinding, HealthReport } from "../../../coder/health.ts";
import type { HeldFindings } from "../memory.ts";
import { addReport, recorded, restored } from "./findings.ts";

const slow: HealthFinding = { section: "database", code: "EDB02", isError: false };
const none: HealthFinding = { section: "provisioner_daemons", code: "EPD01", isError: true };

const report = (madeAt: number, findings: readonly HealthFinding[]) => ({ madeAt, findings });

/** The findings held after the given reports, in order. */
function heldAfter(replicas: number, ...turns: readonly (readonly HealthFinding[])[]) {
  return codes(
    turns.map((findings, minute) => report(minute, findings)),
    replicas,
  );
}

function codes(reports: readonly HealthReport[], replicas: number) {
  const held = reports.reduce<HeldFindings>((before, next) => addReport(before, next, replicas), []);
  return held.map(({ finding }) => finding.code);
}

test("with one replica the newest report counts", () => {
  expect(heldAfter(1, [slow])).toEqual(["EDB02"]);
  expect(heldAfter(1, [slow], [])).toEqual([]);
});

describe("with several replicas", () => {
  test("a finding of one of them is kept while reports alternate", () => {
    const alternating = Array.from({ length: 50 }, (_, turn) => (turn % 2 ? [slow] : []));
    for (let length = 2; length <= alternating.length; length++)
      expect(heldAfter(2, ...alternating.slice(0, length))).toEqual(["EDB02"]);
  });

  test("it ends when two reports for each have come without it", () => {
    expect(heldAfter(2, [slow], [], [], [])).toEqual(["EDB02"]);
    expect(heldAfter(2, [slow], [], [], [], [])).toEqual([]);
    expect(heldAfter(3, [slow], [], [], [], [], [])).toEqual(["EDB02"]);
    expect(heldAfter(3, [slow], [], [], [], [], [], [])).toEqual([]);
  });

  test("a report that a replica repeats counts once", () => {
    const repeated = Array.from({ length: 20 }, () => report(7, []));
    expect(codes([report(1, [slow]), ...repeated], 2)).toEqual(["EDB02"]);
  });

  test("each finding is kept separately, as last reported", () => {
    expect(heldAfter(2, [slow], [none])).toEqual(["EPD01", "EDB02"]);
    const before = addReport([], report(1, [slow]), 2);
    const [worse] = addReport(before, report(2, [{ ...slow, isError: true }]), 2);
    expect(worse?.finding.isError).toBe(true);
  });
});

test("a new leader recalls what was recorded, and nothing that coderd never says", () => {
  const held = addReport([], report(1, [none, slow]), 2);
  const status = recorded(held);
  expect(recorded(addReport([], report(1, [slow, none]), 2))).toEqual(status);
  const { healthFindings = [] } = status;
  const forged = [
    { section: "constructor", code: "EDB01", error: true },
    { section: "database", code: "<b>", error: true },
  ];
  const findings = restored({ healthFindings: [...healthFindings, ...forged] }).map(({ finding }) => finding);
  expect(findings).toEqual([slow, none]);
  expect(recorded([])).toEqual({ healthFindings: undefined });
});
