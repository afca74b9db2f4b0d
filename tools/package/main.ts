/** Packs the runtime for installation. */
import { packRuntime } from "./package.ts";

const { tarball } = await packRuntime(process.argv[2] ?? "dist");
console.log(tarball);
