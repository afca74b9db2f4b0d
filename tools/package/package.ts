import { execFile } from "node:child_process";
import { cp, glob, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const repository = fileURLToPath(new URL("../..", import.meta.url));
const source = join(repository, "packages/kube-controller-runtime");

/**
 * Files besides JavaScript and declarations: binaries are built from pins and Go programs if they are not
 * cached.
 */
const DOCUMENTS = ["README.md"];
const GO_FILES = ["testing/{kube,node}/**/go.{mod,sum}", "testing/node/programs/**/*.go"];

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** A package for `npm install`. */
export interface PackedRuntime {
  readonly tarball: string;
  readonly manifest: Manifest;
}

/**
 * Builds the package of the runtime in the folder `out`: JavaScript, declarations, a manifest whose exports
 * refer to these, and the tarball. Nothing is published.
 */
export async function packRuntime(out: string): Promise<PackedRuntime> {
  const folder = join(out, "kube-controller-runtime");
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const tsc = join(repository, "node_modules/typescript/bin/tsc");
  await run(process.execPath, [tsc, "-p", join(source, "tsconfig.build.json"), "--outDir", folder]);
  await nameJavaScript(folder);
  await copy(folder);
  const manifest = manifestOf(JSON.parse(await readFile(join(source, "package.json"), "utf8")));
  await writeFile(join(folder, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
  const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", out], { cwd: folder });
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  return { tarball: join(out, filename), manifest };
}

/** The compiler keeps the names of sources in declarations, which older compilers can't resolve. */
async function nameJavaScript(folder: string): Promise<void> {
  for await (const file of glob(`${folder}/**/*.d.ts`)) {
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replaceAll(/((?:from |import\()")(\.[^"]+)\.ts"/g, '$1$2.js"'));
  }
}

async function copy(folder: string): Promise<void> {
  await cp(join(repository, "LICENSE"), join(folder, "LICENSE"));
  for await (const file of glob([...DOCUMENTS, ...GO_FILES], { cwd: source })) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await cp(join(source, file), join(folder, file));
  }
}

function manifestOf({ devDependencies: _, ...manifest }: Manifest): Manifest {
  const entries = Object.entries(manifest.exports).map(([entry, file]) => {
    const name = file.replace(/\.ts$/, "");
    return [entry, { types: `${name}.d.ts`, default: `${name}.js` }];
  });
  return { ...manifest, exports: Object.fromEntries(entries), files: ["src", "testing", ...DOCUMENTS] };
}
