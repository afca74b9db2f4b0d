import { describe, expect, test } from "vitest";
import { changelogSection } from "./notes.ts";

const changelog = `# Changelog

## [Unreleased]

### Added

- The future.

## [0.2.0] - 2026-01-02

### Fixed

- The past.

## [0.1.0] - 2025-01-02
`;
const strict = { orUnreleased: false };
const dry = { orUnreleased: true };

describe("the section of a version in the changelog", () => {
  test("is the text between its heading and the next", () => {
    const section = { title: "[0.2.0] - 2026-01-02", text: "### Fixed\n\n- The past." };
    expect(changelogSection(changelog, "0.2.0", strict)).toEqual(section);
    expect(changelogSection(changelog, "0.2.0", dry)).toEqual(section);
  });

  test("must be there for a release, and the error says what to write", () => {
    expect(() => changelogSection(changelog, "0.3.0", strict)).toThrow(
      /no section \[0\.3\.0\]: rename \[Unreleased\] to it/,
    );
  });

  test("is that of unreleased changes in a dry run of a version that it does not have yet", () => {
    expect(changelogSection(changelog, "0.3.0", dry).text).toBe("### Added\n\n- The future.");
  });

  test("must not be empty", () => {
    expect(() => changelogSection(changelog, "0.1.0", strict)).toThrow(/nothing in its section \[0\.1\.0\]/);
  });
});
