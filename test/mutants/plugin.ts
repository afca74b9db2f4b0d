import type { Mutant } from "./mutant.ts";

/** Guards of `kubectl coder` against what it reads, and against assistants. */
export const pluginMutants: readonly Mutant[] = [
  {
    guard: "mcp: an assistant is offered nothing that writes unless the person allowed it",
    file: "src/plugin/mcp/serve.ts",
    from: "return allowWrites ? [...reading, ...writing] : reading;",
    to: "return [...reading, ...writing];",
    tests: ["test/world/plugin/mcp.test.ts"],
  },
  {
    guard: "mcp: logs of pods that are not the operator's are not read",
    file: "src/plugin/mcp/logs.ts",
    from: "(manager === MANAGER_NAME && OURS.includes(app)) || app === MANAGER_NAME",
    to: "manager === MANAGER_NAME || app === MANAGER_NAME",
    tests: ["test/world/plugin/mcp.test.ts"],
  },
  {
    guard: "mcp: secrets in texts of the cluster are masked",
    file: "src/plugin/mcp/bound.ts",
    from: "redactor.text(text, MAX_TEXT_CHARACTERS)",
    to: "text.slice(0, 8_192)",
    tests: ["test/world/plugin/mcp.test.ts"],
  },
  {
    guard: "mcp: what a log quotes of a Secret is taken out of it",
    file: "src/plugin/mcp/bound.ts",
    from: "redactor.text(text, MAX_TEXT_CHARACTERS)",
    to: "redactText(text)",
    tests: ["test/world/plugin/mcp.test.ts"],
  },
  {
    guard: "mcp: a log is not read by a person who may not list the Secrets that it may quote",
    file: "src/plugin/mcp/serve.ts",
    from: "if (isWhole || !quotes) return redactor;",
    to: "return redactor;",
    tests: ["test/world/plugin/mcp.test.ts"],
  },
  {
    guard: "bundle: what a Helm release was installed with is recognized",
    file: "src/plugin/commands/bundle/values.ts",
    from: "return Object.values(data).flatMap((value) => releaseValues(value, names));",
    to: "return [];",
    tests: ["test/world/plugin/bundle.test.ts"],
  },
  {
    guard: "import: a release is unpacked up to a limit",
    file: "src/plugin/commands/import-helm/release.ts",
    from: "gunzipSync(packed, { maxOutputLength: MAX_BYTES })",
    to: "gunzipSync(packed)",
    tests: ["src/plugin/commands/import-helm"],
  },
  {
    guard: "import: values of variables are not shown in a comparison",
    file: "src/plugin/commands/import-helm/differences.ts",
    from: '.test(path) ? "(a value)"',
    to: ".test(path) ? String(value)",
    tests: ["src/plugin/commands/import-helm"],
  },
];
