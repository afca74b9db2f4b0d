/** Makes the one file that a release runs. */
import { bundle } from "./bundle.ts";

const outfile = "dist/coder-k8s.mjs";

const { bytes } = await bundle(outfile);
console.log(`${outfile}: ${Math.round(bytes / 1024)} KB`);
