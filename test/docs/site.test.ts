import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { repository } from "./pages.ts";

test("the site is built, with a page for each file and without dead links", {
  timeout: 180_000,
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), "coder-k8s-site-"));
  try {
    // VitePress ends with an error when a link leads nowhere.
    const args = [
      `${repository}node_modules/vitepress/bin/vitepress.js`,
      "build",
      "docs",
      "--outDir",
      folder,
    ];
    await promisify(execFile)(process.execPath, args, { cwd: repository });
    for (const page of ["index", "start", "reference/flags", "how-to/examples"])
      expect(existsSync(join(folder, `${page}.html`)), page).toBe(true);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
