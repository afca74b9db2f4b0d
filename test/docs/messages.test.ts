import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { repository } from "./pages.ts";

const page = readFileSync(`${repository}docs/reference/messages.md`, "utf8");
const conditions = readFileSync(`${repository}docs/reference/conditions.md`, "utf8");

const rows = [...page.matchAll(/^\| (\w+) \| `(\w+)` \| (.*) \|$/gm)].map(
  ([, status = "", reason = "", message = ""]) => ({ status, reason, message }),
);

/** The API server's own reasons for refusing a write, and the names of kinds that belong to somebody else. */
const fromOutside = /^(AlreadyExists|BadRequest|Invalid|NotFound)$|NotOurs$/;

describe("the page of messages", () => {
  test("has the messages of all three kinds", () => {
    expect(rows.length).toBeGreaterThan(100);
    for (const kind of ["CoderControlPlane", "CoderProvisioner", "CoderWorkspaceProxy"])
      expect(page).toContain(`### ${kind}: Ready`);
  });

  test("has only reasons that the page of conditions explains", () => {
    // The event of a stage of an upgrade has the stage's name in it.
    const isExplained = (reason: string) =>
      conditions.includes(`\`${reason}\``) || conditions.includes(`\`${reason.replace(/^Upgrade/, "")}\``);
    const unknown = rows.filter(({ reason }) => !isExplained(reason) && !fromOutside.test(reason));
    expect(unknown).toEqual([]);
  });

  test("has only sentences: with a capital letter, a name or a number at the start, and an end", () => {
    const begins = /^([A-Z]|"…"|&lt;n&gt;|coderd|spec\.)/;
    const ends = /([.!?]|kubectl .*)$/;
    const broken = rows.filter(({ message }) => !begins.test(message) || !ends.test(message));
    expect(broken).toEqual([]);
  });
});
