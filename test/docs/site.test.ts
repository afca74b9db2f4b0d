import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
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
    const has = async (page: string, text: string) =>
      (await readFile(join(folder, `${page}.html`), "utf8")).includes(text);
    for (const page of ["index", "start", "reference/flags", "how-to/examples", "how-to/index"])
      expect(await has(page, 'href="/icon.svg"'), page).toBe(true);
    expect(await has("index", `>${manifest.version}<`), "its version").toBe(true);
    const titled = '<td data-title="Description">';
    expect(await has("reference/codercontrolplane", titled), "titles for phones").toBe(true);
    expect(await has("start", "edit-link-button"), "a link to edit").toBe("repository" in manifest);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
