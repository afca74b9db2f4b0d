import { expect, test } from "vitest";
import { isMovingTag, reportImage, runningImages } from "./image.ts";

test.each([
  ["ghcr.io/coder/coder:latest", true],
  ["ghcr.io/coder/coder", true],
  ["localhost:5000/coder", true],
  ["ghcr.io/coder/coder:v2.36.1", false],
  ["localhost:5000/coder:v2.36.1", false],
  ["ghcr.io/coder/coder:latest@sha256:abc", false],
])("the image %s may become another one: %s", (image, expected) => {
  expect(isMovingTag(image)).toBe(expected);
});

test("a moving image is reported until it is pinned, and then the condition is removed", () => {
  const { condition } = reportImage("coder:latest", {});
  expect(condition).toMatchObject({
    status: "False",
    reason: "TagMoves",
    message: expect.stringContaining("spec.image"),
  });
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  const earlier = {
    type: "ImagePinned",
    status: "False",
    reason: "TagMoves",
    message: "",
    lastTransitionTime,
  };
  expect(reportImage("coder:v2", { status: { conditions: [earlier] } })).toEqual({ noCondition: true });
  expect(reportImage("coder:v2", {})).toEqual({});
  expect(reportImage(undefined, {})).toEqual({});
});

test("status shows each image of our own container once, with its digest", () => {
  const pod = (name: string, imageID: string) => ({
    status: { containerStatuses: [{ name, imageID, image: "x", ready: true, restartCount: 0 }] },
  });
  const pods = [
    pod("coder", "coder@sha256:b"),
    pod("coder", "coder@sha256:a"),
    pod("coder", "coder@sha256:b"),
  ];
  expect(runningImages([...pods, pod("sidecar", "other@sha256:c"), pod("coder", "")], "coder")).toEqual([
    "coder@sha256:a",
    "coder@sha256:b",
  ]);
  expect(runningImages([], "coder")).toBeUndefined();
});
