import { CoderControlPlane } from "../../../api/v1alpha1/kinds.ts";
import { PAUSE_ANNOTATION } from "../../../operator/pause.ts";
import type { Command } from "../../command.ts";
import { completeObjects } from "../../objects.ts";

export const releaseToHelm: Command = {
  name: "release-to helm",
  summary: "Hand a control plane back to a release of Coder's Helm chart, without an outage",
  details: `Sets ${PAUSE_ANNOTATION} and prepares Deployment, Service, ServiceAccount and Ingress, so that helm upgrade --install takes them over. The pods serve all the time and the database is left alone. It works without a running operator, and may be repeated after a failure.`,
  arguments: [
    {
      name: "name",
      summary: "the CoderControlPlane, which must be called coder, as the objects of the chart are",
      complete: completeObjects(CoderControlPlane),
    },
  ],
  flags: [
    { flags: "--release <name>", summary: "name of the Helm release; coder when absent" },
    { flags: "--name-override <name>", summary: "nameOverride of the release's values, if they have one" },
  ],
  examples: [
    { does: "Go back to the chart", line: "kubectl coder release-to helm coder -n coder" },
    {
      does: "To a release with another name",
      line: "kubectl coder release-to helm coder -n coder --release coder-prod",
    },
  ],
  // What it needs is loaded when it is needed: most commands do without.
  run: async (context, given) => (await import("./run.ts")).run(context, given),
};
