import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readGoModule } from "./go-module.ts";

test.each([
  { how: "on a line of its own", text: "require example.com/tool v1.2.3\n" },
  {
    how: "in a block",
    text: "require (\n\texample.com/other v1.0.0\n\texample.com/tool v1.2.3 // indirect\n)\n",
  },
])("a pinned version is found $how", async ({ text }) => {
  const dir = await mkdtemp(join(tmpdir(), "go-module-"));
  try {
    await writeFile(join(dir, "go.mod"), `module example.com/main\n\n${text}`);
    await writeFile(join(dir, "go.sum"), "");
    const module = readGoModule(dir);
    expect(module.versionOf("example.com/tool")).toBe("v1.2.3");
    expect(() => module.versionOf("example.com/absent")).toThrow("does not pin example.com/absent");
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});
