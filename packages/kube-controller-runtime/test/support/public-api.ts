import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const { exports: entries } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  exports: Record<string, string>;
};

/** A public export. */
export interface PublicName {
  readonly entry: string;
  readonly name: string;
  readonly file: string;
}

/** All exports of the package, by the entries in its manifest. */
export function publicNames(): PublicName[] {
  return Object.entries(entries).flatMap(([entry, file]) =>
    namesIn(join(root, file)).map((found) => ({ entry, ...found })),
  );
}

function namesIn(file: string): Omit<PublicName, "entry">[] {
  const text = readFileSync(file, "utf8");
  const resolved = (specifier: string) => join(dirname(file), specifier);
  const own = [
    ...text.matchAll(/^export (?:abstract |async )*(?:function|class|const|interface|type) (\w+)/gm),
  ];
  const listed = [...text.matchAll(/^export (?:type )?\{([^}]*)\} from "([^"]+)";/gm)];
  const all = [...text.matchAll(/^export \* from "([^"]+)";/gm)];
  return [
    ...own.map(([, name = ""]) => ({ name, file })),
    ...listed.flatMap(([, names = "", specifier = ""]) =>
      names
        .split(",")
        .map((name) => name.replace(/^\s*type\s+/, "").trim())
        .filter(Boolean)
        .map((name) => ({ name, file: resolved(specifier) })),
    ),
    ...all.flatMap(([, specifier = ""]) => namesIn(resolved(specifier))),
  ];
}

/** The doc comment of an export; `undefined` if it has none. */
export function docOf({ name, file }: PublicName): string | undefined {
  const lines = readFileSync(file, "utf8").split("\n");
  const declaration = new RegExp(
    `^(export )?(abstract |async )*(function|class|const|interface|type) ${name}\\b`,
  );
  const places = lines.flatMap((line, index) => (declaration.test(line) ? [index] : []));
  const documented = places.find((place) => lines[place - 1]?.trim().endsWith("*/"));
  return documented === undefined ? undefined : lines[documented - 1];
}

/** Kinds of Kubernetes, which its documentation describes. */
export function isBuiltInKind({ name, file }: PublicName): boolean {
  const text = readFileSync(file, "utf8");
  return new RegExp(`^export type ${name} = Wire<k8s\\.`, "m").test(text) && file.endsWith("/kinds.ts");
}
