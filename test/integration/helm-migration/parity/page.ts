import { currentPlatform } from "kube-controller-runtime/testing/binaries";
import { readPins } from "../../../../tools/coder/pins.ts";
import { provisionerRows } from "./provisioner-rows.ts";
import type { Row } from "./row.ts";
import { serverRows } from "./server-rows.ts";

const { coder, "coder-old": older } = readPins(currentPlatform()).binaries;
const CHARTS = `${coder.version.slice(1)} and ${older.version.slice(1)}`;

const serverLines = serverRows.map(line);
const provisionerLines = provisionerRows.map(line);

/** The page about the charts' values. */
export function page(): string {
  return [
    "# Values of Coder's Helm charts",
    `The field for every value of Coder's charts \`coder\` and \`provisioner\`, and the part of the objects that it sets. A test\nrenders the charts of Coder ${CHARTS} with an example for each value, compares them with the operator's objects, and writes\nthis page: \`Equal\` means that this part is the same. See [From the Helm charts](../tutorials/from-the-helm-charts.md).`,
    "## Both charts",
    table(serverLines.filter((line) => provisionerLines.includes(line))),
    "## Chart coder",
    table(serverLines.filter((line) => !provisionerLines.includes(line))),
    "## Chart provisioner",
    table(provisionerLines.filter((line) => !serverLines.includes(line))),
    "",
  ]
    .join("\n\n")
    .replace(/\n+$/, "\n");
}

function line({ value, field, shows = [], because, note }: Row): string {
  const places = [...new Set(shows.map((place) => `\`${place.replace(/\.(-?\d+)(?=\.|$)/g, "[$1]")}\``))];
  const result = because ?? ["Equal.", ...(note ? [note] : [])].join(" ");
  return `| \`${value}\` | ${field ? `\`${field}\`` : "—"} | ${places.join(", ") || "—"} | ${result} |`;
}

function table(lines: readonly string[]): string {
  return ["| Value | Field | Sets | Result |", "|---|---|---|---|", ...lines].join("\n");
}
