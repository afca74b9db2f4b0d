import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { decodeRelease, ReleaseError } from "./release.ts";

const base64 = (content: Buffer | string) => Buffer.from(content).toString("base64");
/** As the API server has it: Helm encodes once, Kubernetes once more. */
const kept = (release: unknown) => base64(base64(gzipSync(JSON.stringify(release))));
const chart = {
  metadata: { name: "coder", version: "2.26.0", appVersion: "2.26.0" },
  values: { coder: { replicaCount: 1, image: { repo: "r", tag: "" } } },
};
const marked = "s3cr3t-marker";

describe("a release from its Secret", () => {
  test("merges the user's values over the chart's defaults", () => {
    const config = { coder: { replicaCount: 3 } };
    expect(decodeRelease(kept({ name: "a", namespace: "b", chart, config }))).toEqual({
      name: "a",
      namespace: "b",
      chart: "coder",
      version: "2.26.0",
      appVersion: "2.26.0",
      values: { coder: { replicaCount: 3, image: { repo: "r", tag: "" } } },
      given: config,
    });
  });

  test("loses a default that users set to null, as in Helm", () => {
    const { values } = decodeRelease(kept({ chart, config: { coder: { image: null } } }));
    expect(values).toEqual({ coder: { replicaCount: 1 } });
  });

  test("can't reach into the program with names of built-in properties", () => {
    const config = JSON.parse(
      '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
    );
    const { given } = decodeRelease(kept({ chart, config }));
    expect(Object.getPrototypeOf(given)).toBe(Object.prototype);
    expect({}).not.toHaveProperty("polluted");
  });

  test.each([
    ["is a bomb", base64(base64(gzipSync(Buffer.alloc(64 * 1024 * 1024)))), /larger than 16 MiB/],
    ["is cut off", base64(base64(gzipSync(marked.repeat(100)).subarray(0, 30))), /can't be unpacked/],
    ["is not JSON", base64(base64(gzipSync(`{${marked}`))), /not valid JSON/],
    ["is not compressed and no JSON", base64(base64(marked)), /not valid JSON/],
    ["is empty", "", /not valid JSON/],
    ["is of another chart", kept({ chart: { metadata: { name: "postgres" } } }), /chart "postgres"/],
    ["is of no chart", kept([1, 2, 3]), /chart ""/],
  ])("that %s is refused without being quoted", (_, data, words) => {
    let message = "";
    try {
      decodeRelease(data);
    } catch (error) {
      expect(error).toBeInstanceOf(ReleaseError);
      message = (error as Error).message;
    }
    expect(message).toMatch(words);
    expect(message).not.toContain(marked);
  });

  test("that is nested endlessly is refused before it crashes the program", () => {
    const deep = `{"chart":${JSON.stringify(chart)},"config":${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}}`;
    expect(() => decodeRelease(base64(base64(gzipSync(deep))))).toThrow(/nested more than 64 levels/);
  });
});
