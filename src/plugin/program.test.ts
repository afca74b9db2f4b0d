import { expect, test } from "vitest";
import { commands } from "./commands/all.ts";
import { type Call, parseCall } from "./program.ts";

function parsed(...words: string[]): { call: Call | number; out: string; error: string } {
  let [out, error] = ["", ""];
  const call = parseCall(words, {
    commands,
    version: "1.2.3",
    write: (text) => {
      out += text;
    },
    writeError: (text) => {
      error += text;
    },
  });
  return { call, out, error };
}

test("words become a call with its arguments, its own flags and those that all commands have", () => {
  const { call } = parsed("pause", "provisioner/linux", "-n", "dev", "-o", "json");
  expect(call).toMatchObject({
    command: { name: "pause" },
    given: { arguments: ["provisioner/linux"], flags: {} },
    common: { namespace: "dev", output: "json" },
  });
});

test.each(commands)("the help of `$name` has an example that its own parser takes", (command) => {
  const { call, out } = parsed(...command.name.split(" "), "--help");
  expect(call).toBe(0);
  for (const { does, line } of command.examples) {
    expect(out).toContain(`# ${does}\n  ${line}`);
    const words = line.replace(/^kubectl coder /, "").replace(/ [>|&].*/, "");
    expect(parsed(...words.split(" ")).call).toMatchObject({ command: { name: command.name } });
  }
  expect(command.examples).not.toEqual([]);
});

test.each([[["bogus"]], [["pause"]], [["pause", "a", "b"]], [["pause", "a", "-o", "xml"]], [[]]])(
  "the words %j are wrong: exit code 2, and what to do on standard error",
  (words) => {
    const { call, out, error } = parsed(...words);
    expect(call).toBe(2);
    expect(out).toBe("");
    expect(error).not.toBe("");
  },
);

test("the version is printed with exit code 0", () => {
  expect(parsed("--version")).toMatchObject({ call: 0, out: "1.2.3\n" });
});
