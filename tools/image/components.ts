import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import lock from "../../package-lock.json" with { type: "json" };
import { nodeVersion } from "./architecture.ts";
import type { Library } from "./libraries.ts";

/** A third-party part of an image. */
export interface Component {
  readonly name: string;
  readonly version?: string;
  /** A package URL, if it is in a registry. */
  readonly purl?: string;
  /** An SPDX expression. */
  readonly license: string;
  readonly licenseText: string;
  readonly sha256?: string;
}

interface Locked {
  readonly version?: string;
  readonly license?: string;
}

/** The packages in a bundle, by the names of its source files, sorted by name. */
export function packagesIn(inputs: readonly string[], root: string): Component[] {
  const folders = inputs.flatMap((input) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input) ?? []);
  return [...new Set(folders)].sort().map((folder) => packageIn(folder, root));
}

function packageIn(folder: string, root: string): Component {
  const { version, license }: Locked = (lock.packages as Record<string, Locked>)[folder] ?? {};
  if (!version || !license) throw new Error(`package-lock.json has no version and license of ${folder}`);
  const name = folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length);
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  return { name, version, purl, license, licenseText: licenseIn(join(root, folder)) };
}

/** Some packages only have their license at the end of the README. */
function licenseIn(folder: string): string {
  const names = readdirSync(folder);
  const read = (name: string) => readFileSync(join(folder, name), "utf8");
  const file = names.find((name) => /^licen[cs]e(\.|$)/i.test(name));
  if (file !== undefined) return read(file);
  const readme = names.find((name) => /^readme\.md$/i.test(name));
  const section = readme && /^#+ licen[cs]e\s+(.+)/ims.exec(read(readme))?.[1];
  if (!section) throw new Error(`${folder} has no license text`);
  return section;
}

/** Node.js; its license file includes all libraries that are linked into it. */
export function nodeComponent(executable: Buffer, licenseText: string): Component {
  const purl = `pkg:generic/node@${nodeVersion}`;
  return {
    name: "node",
    version: nodeVersion,
    purl,
    license: "MIT",
    licenseText,
    sha256: sha256(executable),
  };
}

/** Shared libraries of the system: GCC's runtime and glibc. */
export function libraryComponents(libraries: readonly Library[]): Component[] {
  return libraries.map(({ name, content }) => {
    const gcc = /^lib(gcc_s|stdc\+\+|atomic)\./.test(name);
    return {
      name,
      license: gcc ? "GPL-3.0-or-later WITH GCC-exception-3.1" : "LGPL-2.1-or-later",
      licenseText: gcc
        ? text("GCC-exception-3.1") + text("GPL-3.0")
        : text("glibc-notices") + text("LGPL-2.1"),
      sha256: sha256(content),
    };
  });
}

function text(license: string): string {
  return readFileSync(new URL(`licenses/${license}.txt`, import.meta.url), "utf8");
}

function sha256(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}
