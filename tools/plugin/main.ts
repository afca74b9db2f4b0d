/** Creates `kubectl coder` as one file that runs with any Node.js. */

import { pluginFile } from "../build/bundle.ts";
import { bundlePlugin } from "./bundle.ts";

const { bytes } = await bundlePlugin(pluginFile);
console.log(`${pluginFile}: ${Math.round(bytes / 1024)} KB`);
