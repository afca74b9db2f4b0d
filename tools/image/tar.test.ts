import { expect, test } from "vitest";
import { readTar, type TarEntry, writeTar } from "./tar.ts";

const entries: TarEntry[] = [
  { type: "file", path: "nodejs/bin/node", content: Buffer.from("a program"), mode: 0o755 },
  { type: "link", path: "lib64", to: "lib/x86_64-linux-gnu" },
  { type: "directory", path: "tmp", mode: 0o1777 },
];

test("an archive does not depend on the order in which its entries are given", () => {
  expect(writeTar(entries).equals(writeTar(entries.toReversed()))).toBe(true);
});

test("an archive holds what was put into it, and the folders above", () => {
  expect(readTar(writeTar(entries))).toEqual([
    { type: "link", path: "lib64", to: "lib/x86_64-linux-gnu" },
    { type: "directory", path: "nodejs", mode: 0o755 },
    { type: "directory", path: "nodejs/bin", mode: 0o755 },
    { type: "file", path: "nodejs/bin/node", content: Buffer.from("a program"), mode: 0o755 },
    { type: "directory", path: "tmp", mode: 0o1777 },
  ]);
});

test("an entry belongs to root, or to the owner that it names", () => {
  const home: TarEntry = { type: "directory", path: "home/coder", mode: 0o755, owner: 1000 };
  expect(readTar(writeTar([home]))).toEqual([{ type: "directory", path: "home", mode: 0o755 }, home]);
});

test("a long path is kept in the two fields that the format has for it", () => {
  const path = `${"folder/".repeat(20)}${"x".repeat(90)}`;
  const entries = readTar(writeTar([{ type: "file", path, content: Buffer.from("x") }]));
  expect(entries.at(-1)?.path).toBe(path);
});

test("a path that an archive cannot hold is refused and not cut", () => {
  const path = "x".repeat(101);
  expect(() => writeTar([{ type: "directory", path }])).toThrow(/too long/);
});
