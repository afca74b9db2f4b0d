import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { version } from "../../src/version.ts";
import { type Bundle, bundle } from "./bundle.ts";

let dir: string;
let file: string;
let result: Bundle;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "coder-k8s-bundle-test-"));
  file = join(dir, "coder-k8s.mjs");
  result = await bundle(file);
});
afterAll(() => rm(dir, { recursive: true, force: true }));

test("the bundle runs without the sources and their dependencies", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [file, "--version"], { cwd: dir });
  expect(stdout.trim()).toBe(version);
});

test("on an older Node the bundle says which one it needs, before it does anything else", async () => {
  const old =
    "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })";
  const preload = `data:text/javascript,${encodeURIComponent(old)}`;
  const run = promisify(execFile)(process.execPath, ["--import", preload, file, "--version"]);
  await expect(run).rejects.toMatchObject({
    code: 1,
    stdout: "",
    stderr: `This program needs Node.js 24 or newer, but ${process.execPath} is version 20.20.2.\n`,
  });
});

test.each([
  "@kubernetes/",
  "@opentelemetry/",
  "pino/",
  "typebox/",
  "undici/lib/milo/",
  "undici/lib/mock/",
  "undici/lib/web/websocket/",
])("the bundle carries nothing of %s", (unwanted) => {
  expect(result.inputs.filter((input) => input.includes(unwanted))).toEqual([]);
});

test("the bundle is small, and its text takes one byte a character in memory", async () => {
  expect(result.bytes).toBeLessThan(2 * 1024 * 1024);
  const text = await readFile(file, "utf8");
  expect(text.match(/[\u0100-\uffff]/g)).toBeNull();
});
