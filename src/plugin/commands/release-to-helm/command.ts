import { CoderControlPlane } from "../../../api/v1alpha1/kinds.ts";
import { PAUSE_ANNOTATION } from "../../../operator/pause.ts";
import type { Command } from "../../command.ts";
import { completeObjects } from "../../objects.ts";

export const releaseToHelm: Command = {
  name: "release-to helm",
  summary: "Hand a control plane back to a release of Coder's Helm chart, without an outage",
  details: `Sets ${PAUSE_ANNOTATION} and prepares Deployment, Service, ServiceAccount and Ingress, so that helm upgrade --install takes them over. The pods keep running and the database is not changed. The command works without a running operator, and can be repeated after a failure.`,
  arguments: [
    {
      name: "name",
      summary: "the CoderControlPlane, which must be named coder, like the objects of the chart",
      complete: completeObjects(CoderControlPlane),
    },
  ],
  flags: [
    { flags: "--release <name>", summary: "name of the Helm release; defaults to coder" },
    { flags: "--name-override <name>", summary: "nameOverride of the release's values, if set" },
  ],
  examples: [
    { does: "Go back to the chart", line: "kubectl coder release-to helm coder -n coder" },
    {
      does: "Use a release with another name",
      line: "kubectl coder release-to helm coder -n coder --release coder-prod",
    },
  ],
  // Imported on demand, because most commands do not need it.
  run: async (context, given) => (await import("./run.ts")).run(context, given),
};
