import { expect, test } from "vitest";
import { readLogEnd } from "./container-log.ts";

const end = {
  namespace: "dev",
  pod: "coder-1",
  container: "coder",
  previous: false,
  lines: 100,
  bytes: 1_000,
};

/** Answers as a kubelet does: from the first of the lines that are asked for, up to the limit. */
function kubelet(log: readonly string[]) {
  const asked: URL[] = [];
  const text = async (path: string) => {
    const url = new URL(path, "http://kubernetes");
    asked.push(url);
    const number = (name: string) => Number(url.searchParams.get(name));
    const lines = log.slice(-number("tailLines")).map((line) => `${line}\n`);
    return Buffer.from(lines.join("")).subarray(0, number("limitBytes")).toString();
  };
  return { text, asked };
}

test("a log that fits is requested once", async () => {
  const { text, asked } = kubelet(["a", "b", "c"]);
  expect(await readLogEnd({ text }, { ...end, lines: 2, previous: true })).toBe("b\nc\n");
  expect(asked.map(String)).toEqual([
    "http://kubernetes/api/v1/namespaces/dev/pods/coder-1/log?container=coder&tailLines=2&limitBytes=1000&previous=true",
  ]);
});

test("a log whose lines are too long for the limit loses its oldest lines, not the newest", async () => {
  const { text, asked } = kubelet(Array.from({ length: 200 }, (_, at) => `${at} ${"x".repeat(90)}`));
  const lines = (await readLogEnd({ text }, end)).trimEnd().split("\n");
  expect(lines.map((line) => Number.parseInt(line, 10))).toEqual([194, 195, 196, 197, 198, 199]);
  expect(asked).toHaveLength(5);
});

test("of a single line that is too long the beginning is read", async () => {
  const { text } = kubelet(["first", "x".repeat(5_000)]);
  expect(await readLogEnd({ text }, end)).toBe("x".repeat(1_000));
});
