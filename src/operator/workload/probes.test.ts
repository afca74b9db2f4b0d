import { expect, test } from "vitest";
import { httpProbe, livenessSettings, readinessSettings } from "./probes.ts";

const on = { enabled: true };
const off = { enabled: false };
const defaults = {
  initialDelaySeconds: 0,
  periodSeconds: 10,
  timeoutSeconds: 1,
  successThreshold: 1,
  failureThreshold: 3,
};

test.each([
  ["nothing said, on by default", undefined, on, defaults],
  ["nothing said, off by default", undefined, off, undefined],
  ["turned off", { enabled: false, periodSeconds: 5 }, on, undefined],
  ["turned on", { enabled: true }, off, defaults],
  ["tuned, on by default", { periodSeconds: 5 }, on, { ...defaults, periodSeconds: 5 }],
  [
    "zeros mean the defaults",
    { periodSeconds: 0, timeoutSeconds: 0, successThreshold: 0, failureThreshold: 0 },
    on,
    defaults,
  ],
  [
    "every number",
    { initialDelaySeconds: 1, periodSeconds: 2, timeoutSeconds: 3, successThreshold: 4, failureThreshold: 5 },
    on,
    { initialDelaySeconds: 1, periodSeconds: 2, timeoutSeconds: 3, successThreshold: 4, failureThreshold: 5 },
  ],
])("a probe: %s", (_case, spec, kindDefault, expected) => {
  expect(readinessSettings(spec, kindDefault)).toEqual(expected);
});

test("a liveness probe needs one success, regardless of an old object", () => {
  expect(livenessSettings({ enabled: true, successThreshold: 3 }, off)).toEqual(defaults);
  expect(livenessSettings(undefined, off)).toBeUndefined();
});

test("a probe writes out all of its numbers", () => {
  expect(httpProbe(defaults, { path: "/healthz", port: "http" })).toEqual({
    httpGet: { path: "/healthz", port: "http", scheme: "HTTP" },
    initialDelaySeconds: 0,
    periodSeconds: 10,
    timeoutSeconds: 1,
    successThreshold: 1,
    failureThreshold: 3,
  });
});
