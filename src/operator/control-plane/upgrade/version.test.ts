import { expect, test } from "vitest";
import { isSameBuild } from "./version.ts";

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
