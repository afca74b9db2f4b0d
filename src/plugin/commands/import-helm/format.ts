import { paragraph, section } from "../../terminal/lines.ts";
import type { OutputStyle } from "../../terminal/output-style.ts";
import { type Line, type Span, span } from "../../terminal/text.ts";
import { yamlText } from "../../terminal/yaml.ts";
import type { Difference } from "./differences.ts";
import type { Manifest } from "./translate.ts";
import type { Remark } from "./values.ts";

/** What `import helm` found out. */
export interface Imported {
  readonly release: { readonly name: string; readonly chart: string; readonly version: string | undefined };
  readonly manifest: Manifest;
  readonly remarks: readonly Remark[];
}

/** The same, with what would change. */
export interface Checked extends Imported {
  readonly differences: readonly Difference[];
  readonly gaps: readonly string[];
}

const MAX_REMARKS = 200;
const MAX_PATH_LENGTH = 200;
/** Of differences that have the same reason. */
const MAX_PLACES = 4;

/** What a control plane does in Coder beside what the release did, as the documentation says it too. */
const OPERATOR_ACCESS =
  "By default the operator writes to Coder's database: it creates a system user with the role owner, and an API token for it. To begin without it, add spec.operatorAccess.disabled: true.";

const newInCoder = ({ kind }: Manifest) => (kind === "CoderControlPlane" ? [OPERATOR_ACCESS] : []);

/** A manifest to apply, with the remarks as comments at its top. */
export function manifestLines({ release, manifest, remarks }: Imported): Line[] {
  const version = release.version ? ` ${release.version}` : "";
  const shown = remarks.slice(0, MAX_REMARKS);
  const comments = [
    `From the Helm release ${release.name}, chart ${release.chart}${version}.`,
    ...newInCoder(manifest),
    ...(shown.length > 0 ? ["Values that have no field, or another meaning here:"] : []),
    ...shown.map(({ value, text }) => `- ${value.slice(0, MAX_PATH_LENGTH)}: ${text}`),
    ...(remarks.length > shown.length ? [`- and ${remarks.length - shown.length} more`] : []),
  ];
  // A line end in the name of a value would begin a line of YAML.
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
      "To look at:",
      open.flatMap((one) => differenceLines(one, style)),
    ),
    ...section("Has to differ:", meantLines(meant)),
    ...section(
      "New:",
      newInCoder(manifest).flatMap((text) => paragraph(text, style, "  ")),
    ),
  ];
}

function verdict(object: string, places: number, isPartial: boolean): Span {
  if (places === 0 && !isPartial)
    return span(`${object} would run what runs now; what differs has to.`, "green");
  if (places === 0) return span(`${object} could not be compared with all that runs.`, "yellow");
  const rest = isPartial ? ", and could not be compared with all that runs" : "";
  return span(`${object} would change what runs in ${places} places${rest}.`, "yellow");
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

/** A few of them: nobody has to look at these, and `-o json` has all. */
function placeLines(places: readonly string[]): Line[] {
  const shown = places.length > MAX_PLACES ? places.slice(0, MAX_PLACES - 1) : places;
  const rest = places.length - shown.length;
  return [...shown, ...(rest > 0 ? [`and ${rest} more`] : [])].map(
    (text): Line => [span(`    ${text}`, "dim")],
  );
}

/** By their reasons, which many fields share. */
function meantLines(meant: readonly Difference[]): Line[] {
  const reasons = Map.groupBy(meant, ({ because = "" }) => because);
  return [...reasons].flatMap(([because, all]): Line[] => {
    const places = new Set(all.map(({ kind, path }) => `${kind} ${path}`.trim()));
    return [[span(`  ${because.replaceAll("`", "")}`)], ...placeLines([...places])];
  });
}
