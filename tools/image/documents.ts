import { createHash } from "node:crypto";
import type { Component } from "./components.ts";

/** The metadata of an image. */
export interface Subject {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  /** The project's own license. */
  readonly licenseText: string;
}

/**
 * The software bill of materials in CycloneDX 1.6. It contains no time, and its serial number is derived from
 * its content, so that it is reproducible.
 */
export function billOfMaterials({ name, version, license }: Subject, parts: readonly Component[]): string {
  const component = { type: "application", name, version, licenses: [{ expression: license }] };
  const components = parts.map((part) => ({
    type: "library",
    name: part.name,
    ...(part.version && { version: part.version }),
    ...(part.purl && { "bom-ref": part.purl, purl: part.purl }),
    licenses: [{ expression: part.license }],
    ...(part.sha256 && { hashes: [{ alg: "SHA-256", content: part.sha256 }] }),
  }));
  const content = { metadata: { component }, components };
  const bill = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify(content))}`,
    version: 1,
    ...content,
  };
  return `${JSON.stringify(bill, undefined, 2)}\n`;
}

/** The licenses of all parts of an image; a shared text is included once. */
export function licenseNotices({ name, license, licenseText }: Subject, parts: readonly Component[]): string {
  const own: Component = { name, license, licenseText };
  const groups = Map.groupBy([own, ...parts], (part) => part.licenseText.trim());
  const rule = "=".repeat(78);
  const sections = [...groups].map(([text, sharers]) => {
    const names = sharers.map((part) => [part.name, part.version].filter(Boolean).join(" "));
    return `${rule}\n${names.join(", ")}\n${sharers[0]?.license}\n${rule}\n\n${text}\n`;
  });
  return sections.join("\n");
}

/** A UUID of version 8, which is for custom schemes. */
function uuidOf(content: string): string {
  const hex = createHash("sha256").update(content).digest("hex");
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-8$3-8$4-$5");
}
