/** Bundles the operator and its dependencies into the one file that a release runs. */
import { stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));
const outfile = "dist/coder-k8s.mjs";

await build({
  absWorkingDir: root,
  entryPoints: ["src/main.ts"],
  outfile,
  bundle: true,
  platform: "node",
  target: "node24",
  format: "esm",
  // CommonJS dependencies call `require`, which an ES module does not have by itself.
  banner: {
    js: 'import { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);',
  },
  // Optional native driver that pg looks for and does without.
  external: ["pg-native"],
  keepNames: true,
  logLevel: "warning",
});
const { size } = await stat(`${root}/${outfile}`);
console.log(`${outfile}: ${Math.round(size / 1024)} KB`);
