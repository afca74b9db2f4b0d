import { paragraph, section } from "../../terminal/lines.ts";
import type { OutputStyle } from "../../terminal/output-style.ts";
import { type Line, type Span, span } from "../../terminal/text.ts";
import { yamlText } from "../../terminal/yaml.ts";
import type { Difference } from "./differences.ts";
import type { Manifest } from "./translate.ts";
import type { Remark } from "./values.ts";

/** The result of `import helm`. */
export interface Imported {
  readonly release: { readonly name: string; readonly chart: string; readonly version: string | undefined };
  readonly manifest: Manifest;
  readonly remarks: readonly Remark[];
}

/** The result of `import helm --check`. */
export interface Checked extends Imported {
  readonly differences: readonly Difference[];
  readonly gaps: readonly string[];
}

const MAX_REMARKS = 200;
const MAX_PATH_LENGTH = 200;
/** The number of fields shown for each reason. */
const MAX_PLACES = 4;

/** A side effect of the control plane that a release does not have, in the words of the documentation. */
const OPERATOR_ACCESS =
  "By default the operator writes to Coder's database: it creates a system user with the role owner, and an API token for it. To start without this access, set spec.operatorAccess.disabled: true.";

const newInCoder = ({ kind }: Manifest) => (kind === "CoderControlPlane" ? [OPERATOR_ACCESS] : []);

/** A manifest to apply, with the remarks as leading comments. */
export function manifestLines({ release, manifest, remarks }: Imported): Line[] {
  const version = release.version ? ` ${release.version}` : "";
  const shown = remarks.slice(0, MAX_REMARKS);
  const comments = [
    `From the Helm release ${release.name}, chart ${release.chart}${version}.`,
    ...newInCoder(manifest),
    ...(shown.length > 0 ? ["Values without a field, or with a different meaning here:"] : []),
    ...shown.map(({ value, text }) => `- ${value.slice(0, MAX_PATH_LENGTH)}: ${text}`),
    ...(remarks.length > shown.length ? [`- and ${remarks.length - shown.length} more`] : []),
  ];
  // A line end in the name of a value would start a line of YAML.
  const lines = comments.map((comment) => `# ${comment.replace(/[\p{C}\p{Z}]+/gu, " ")}`);
  return [...lines, ...yamlText(manifest).trimEnd().split("\n")].map((line) => [span(line)]);
}

export function checkLines({ manifest, differences, gaps }: Checked, style: OutputStyle): Line[] {
  const open = differences.filter(({ because }) => because === undefined);
  const meant = differences.filter(({ because }) => because !== undefined);
  const object = `${manifest.kind} "${manifest.metadata.name}"`;
  return [
    [verdict(object, open.length, gaps.length > 0)],
    ...gaps.map((gap): Line => [span(gap, "yellow")]),
    ...section(
      "To review:",
      open.flatMap((one) => differenceLines(one, style)),
    ),
    ...section("Expected differences:", meantLines(meant)),
    ...section(
      "New:",
      newInCoder(manifest).flatMap((text) => paragraph(text, style, "  ")),
    ),
  ];
}

function verdict(object: string, places: number, isPartial: boolean): Span {
  if (places === 0 && !isPartial)
    return span(`${object} would run the same workload; all differences are expected.`, "green");
  if (places === 0) return span(`${object} could not be compared with all current objects.`, "yellow");
  const rest = isPartial ? ", and could not be compared with all current objects" : "";
  return span(`${object} would change ${places} fields of the current objects${rest}.`, "yellow");
}

function differenceLines(
  { kind, path, before = "nothing", after = "nothing" }: Difference,
  style: OutputStyle,
): Line[] {
  const arrow = style.unicode ? "→" : "->";
  return [
    [span(`  ${kind} `), span(path || "as a whole", "bold")],
    [span(`    ${before} ${arrow} ${after}`)],
  ];
}

/** Only some of the expected differences are printed; `-o json` contains all. */
function placeLines(places: readonly string[]): Line[] {
  const shown = places.length > MAX_PLACES ? places.slice(0, MAX_PLACES - 1) : places;
  const rest = places.length - shown.length;
  return [...shown, ...(rest > 0 ? [`and ${rest} more`] : [])].map(
    (text): Line => [span(`    ${text}`, "dim")],
  );
}

/** Grouped by reason, because many fields share one. */
function meantLines(meant: readonly Difference[]): Line[] {
  const reasons = Map.groupBy(meant, ({ because = "" }) => because);
  return [...reasons].flatMap(([because, all]): Line[] => {
    const places = new Set(all.map(({ kind, path }) => `${kind} ${path}`.trim()));
    return [[span(`  ${because.replaceAll("`", "")}`)], ...placeLines([...places])];
  });
}
