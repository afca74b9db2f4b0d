import { expect, test } from "vitest";
import { compareVersions, isSameBuild, skippedMinors } from "./versions.ts";

test.each([
  ["coder:v2.26.0", "coder:v2.26.0", true],
  ["mirror.example.com/coder:2.26.0", "ghcr.io/coder/coder:v2.26.0", true],
  ["mirror.example.com/coder:latest", "ghcr.io/coder/coder:latest", true],
  ["mirror.example.com/coder@sha256:aa", "ghcr.io/coder/coder@sha256:aa", true],
  ["mirror.example.com/coder@sha256:aa", "ghcr.io/coder/coder@sha256:bb", false],
  ["mirror.example.com/coder:v2.24.4", "ghcr.io/coder/coder:v2.26.0", false],
  ["mirror.example.com/coder:nightly", "ghcr.io/coder/coder:latest", false],
])(
  "an image that admission may have rewritten: %s for %s is the same build: %s",
  (image, asked, expected) => {
    expect(isSameBuild(image, asked)).toBe(expected);
  },
);

test.each([
  ["v2.25.9", "v2.26.0"],
  ["v2.26.0-rc.1", "v2.26.0"],
  ["v2.26.0-rc.2", "v2.26.0-rc.10"],
  ["v2.25.1", "2.26.0-rc.1"],
])("version %s is older than %s", (older, newer) => {
  expect(compareVersions(older, newer)).toBeLessThan(0);
  expect(compareVersions(newer, older)).toBeGreaterThan(0);
});

test.each(["v2.26.0+abc", "v2.26.0-alpine", "2.26.0-acme.3"])(
  "%s is neither older nor newer than 2.26.0",
  (variant) => {
    expect(compareVersions(variant, "2.26.0")).toBe(0);
  },
);

test.each([
  ["v2.26.0", "v2.36.1", { first: "2.27", last: "2.35", number: 9 }],
  ["v2.34.0", "v2.36.1", { first: "2.35", last: "2.35", number: 1 }],
  ["v2.35.2", "v2.36.1", undefined],
  ["v2.36.0", "v2.36.1", undefined],
  ["v2.36.1", "v2.26.0", undefined],
  ["v2.36.1", "v3.0.0", undefined],
  ["latest", "v2.36.1", undefined],
])("from %s to %s these minor versions are skipped: %o", (from, to, skipped) => {
  expect(skippedMinors(from, to)).toEqual(skipped);
});
