import { readdirSync, readFileSync } from "node:fs";
import type { Schema } from "kube-controller-runtime/testing";
import { parse } from "yaml";

const FOLDER = new URL("../../../config/crd/", import.meta.url);

interface Definition {
  readonly spec: {
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: Schema } }[];
  };
}

let schemas: Readonly<Record<string, Schema>> | undefined;

/** The schemas of the generated CustomResourceDefinitions, by kind. */
export function crdSchemas(): Readonly<Record<string, Schema>> {
  schemas ??= Object.fromEntries(readdirSync(FOLDER).map(readDefinition));
  return schemas;
}

function readDefinition(file: string): [string, Schema] {
  const { spec } = parse(readFileSync(new URL(file, FOLDER), "utf8")) as Definition;
  const [version] = spec.versions;
  if (!version) throw new Error(`${file} serves no version`);
  return [spec.names.kind, version.schema.openAPIV3Schema];
}
