import { resolve } from "node:path";
import type { Entry } from "./file.ts";
import { readSmallFile } from "./read-file.ts";

/** A token, certificate or key: in the kubeconfig itself, or in a file that may be rotated. */
export type Material = { readonly field: string; readonly where: string } & (
  | { readonly text: string }
  | { readonly file: string }
);

/** Resolves a path like client-go: relative to the kubeconfig that contains it. */
export function pathIn({ fields, folder }: Entry, field: string): string | undefined {
  const path = fields.text(field);
  return path === undefined ? undefined : resolve(folder, path);
}

/**
 * The file that `field` names, or the base64 data of `field-data`; rejected if both are set, as by kubectl.
 */
export function fileOrData(entry: Entry, field: string): Material | undefined {
  const { fields } = entry;
  const file = pathIn(entry, field);
  const dataField = `${field}-data`;
  const data = fields.text(dataField);
  if (file && data) throw fields.refuse(field, `and ${dataField} are both set: remove one`);
  if (file) return { field, where: fields.where, file };
  if (!data) return undefined;
  const text = Buffer.from(data, "base64").toString("utf8");
  if (!text.includes("-----BEGIN")) throw fields.refuse(dataField, "is not PEM in base64");
  return { field: dataField, where: fields.where, text };
}

/** The current content. */
export async function contentOf(material: Material): Promise<string> {
  if ("text" in material) return material.text;
  return readSmallFile(material.file, `${material.field} of ${material.where}`);
}
