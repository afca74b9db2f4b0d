import { currentPlatform } from "kube-controller-runtime/testing/binaries";
import { readPins } from "../../../../tools/coder/pins.ts";
import { provisionerRows } from "./provisioner-rows.ts";
import type { Row } from "./row.ts";
import { serverRows } from "./server-rows.ts";

const { coder, "coder-old": older } = readPins(currentPlatform()).binaries;
const CHARTS = `${coder.version.slice(1)} and ${older.version.slice(1)}`;

/** The page about the charts' values. */
export function page(): string {
  return [
    "# Values of Coder's Helm charts",
    `Every value of the charts \`coder\` and \`provisioner\` of the Coder project, what it is here, and where that shows. A test\nrenders the charts of Coder ${CHARTS} with an example for each value, builds our objects with the same in our words, and\nwrites this page: \`equal\` means that both are the same there. See [From the Helm charts](../tutorials/from-the-helm-charts.md).`,
    "## Chart coder",
    table(serverRows),
    "## Chart provisioner",
    table(provisionerRows),
    "",
  ]
    .join("\n\n")
    .replace(/\n+$/, "\n");
}

function table(rows: readonly Row[]): string {
  const lines = rows.map(({ value, field, shows = [], because, note }) => {
    const places = [...new Set(shows.map((place) => `\`${place.replace(/\.(-?\d+)(?=\.|$)/g, "[$1]")}\``))];
    const result = because ?? ["Equal.", ...(note ? [note] : [])].join(" ");
    return `| \`${value}\` | ${field ? `\`${field}\`` : "—"} | ${places.join(", ") || "—"} | ${result} |`;
  });
  return ["| Value | Field | Shows in | Result |", "|---|---|---|---|", ...lines].join("\n");
}
