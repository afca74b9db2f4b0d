import { readFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import type { Files } from "./outputs.ts";

/** The names and addresses of a release. */
export interface ReleaseNames {
  /** Without a leading `v`. */
  readonly version: string;
  /** The operator's image without its tag. */
  readonly image: string;
  /** The address of the repository, with the sources and the documentation. */
  readonly repository: string;
}

/**
 * `config` in package.json is the only place with these names. They are placeholders, so that a checkout is
 * not mistaken for a release. A release sets `IMAGE` and `REPOSITORY`. The version is that of package.json.
 */
export function releaseNames({ IMAGE, REPOSITORY }: NodeJS.ProcessEnv = process.env): ReleaseNames {
  const { version, config } = manifest;
  return { version, image: IMAGE || config.image, repository: REPOSITORY || config.repository };
}

export const valuesFile = "charts/coder-k8s/values.yaml";
export const chartFile = "charts/coder-k8s/Chart.yaml";

/** Lines of a manually written file in which the name follows the match of the first group. */
interface NamedLine {
  readonly file: string;
  readonly line: RegExp;
  readonly name: (names: ReleaseNames) => string;
}

const LINES: readonly NamedLine[] = [
  {
    file: valuesFile,
    line: /(?<=^image:\n(?: {2}#.*\n)*)( {2}repository: ).*$/m,
    name: ({ image }) => image,
  },
  {
    file: valuesFile,
    line: /^( {2}runbookURL: ).*$/m,
    name: runbooks,
  },
  { file: "charts/coder-k8s/files/alerts.yaml", line: /(runbook_url: )[^#\n]+/g, name: runbooks },
  { file: chartFile, line: /^((?:appV|v)ersion: ).*$/gm, name: ({ version }) => version },
  { file: chartFile, line: /^(home: ).*$/m, name: ({ repository }) => repository },
  { file: chartFile, line: /(?<=^sources:\n)( {2}- ).*$/m, name: ({ repository }) => repository },
  {
    file: "Dockerfile",
    line: /(org\.opencontainers\.image\.source=)\S+/,
    name: ({ repository }) => `"${repository}"`,
  },
];

function runbooks({ repository }: ReleaseNames): string {
  return `${repository}/blob/main/docs/runbooks.md`;
}

/** The files with such lines. */
export const namedFiles: ReadonlySet<string> = new Set(LINES.map(({ file }) => file));

/** Adds the files that contain the names of a release, with `names` in them. */
export function withReleaseNames(root: string, files: Files, names = releaseNames()): Files {
  const named = new Map([...namedFiles].map((file) => [file, readFileSync(join(root, file), "utf8")]));
  for (const { file, line, name } of LINES) {
    const content = named.get(file) ?? "";
    if (content.search(line) === -1) throw new Error(`${file} has no line like ${line.source}`);
    named.set(
      file,
      content.replace(line, (_, start: string) => `${start}${name(names)}`),
    );
  }
  return new Map([...files, ...named]);
}
