/** Creates the bundle of a release. */
import { bundle, releaseFile } from "./bundle.ts";

const { bytes } = await bundle(releaseFile);
console.log(`${releaseFile}: ${Math.round(bytes / 1024)} KB`);
