import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { onFreePort, untilReady } from "./start.ts";
import { Supervised } from "./supervised.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "runtime-start-test-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function shell(script: string): Supervised {
  return new Supervised({
    command: "/bin/sh",
    args: ["-c", script],
    logFile: join(dir, `${Math.random()}.log`),
    scratch: join(dir, "scratch"),
  });
}

test("a port that another process takes first is replaced by another", async () => {
  const ports: number[] = [];
  await onFreePort(async (port) => {
    ports.push(port);
    const program = shell(ports.length < 3 ? "echo 'bind: address already in use'; exit 1" : "exec sleep 60");
    await untilReady(program, async () => ports.length === 3);
    await program.stop("SIGKILL");
  });
  expect(new Set(ports).size).toBe(3);
});

test("a program that ends while starting is reported at once, with the end of its log", async () => {
  const program = shell("echo 'unknown flag: --wrong' >&2; exit 2");
  await expect(untilReady(program, async () => false)).rejects.toThrow(
    "sh ended while starting:\nunknown flag: --wrong",
  );
});

test("stopping waits until the program is gone", async () => {
  const program = shell("exec sleep 60");
  await program.stop("SIGTERM");
  expect(program.running).toBe(false);
});
