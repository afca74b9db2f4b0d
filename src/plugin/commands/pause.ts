import { isPaused, PAUSE_ANNOTATION } from "../../operator/pause.ts";
import type { Command, Context } from "../command.ts";
import { findObject, typedName } from "../objects.ts";
import { objectArgument, written } from "./changed-object.ts";

export const pause: Command = {
  name: "pause",
  summary: "Stop the operator from reconciling an object",
  details: `Sets the annotation ${PAUSE_ANNOTATION}. Running pods continue to run, and the object can still be deleted.`,
  arguments: [objectArgument],
  examples: [{ does: "Change a Deployment manually", line: "kubectl coder pause provisioner/linux" }],
  run: (context, { arguments: [typed = ""] }) => setPaused(context, typed, true),
};

export const resume: Command = {
  name: "resume",
  summary: "Let the operator reconcile an object again",
  details: `Removes the annotation ${PAUSE_ANNOTATION}. The operator reconciles the object immediately.`,
  arguments: [objectArgument],
  examples: [{ does: "Resume reconciliation", line: "kubectl coder resume provisioner/linux" }],
  run: (context, { arguments: [typed = ""] }) => setPaused(context, typed, false),
};

async function setPaused(context: Context, typed: string, wanted: boolean) {
  const cluster = await context.connect();
  const { kind, object } = await findObject(cluster, typed);
  const changed = isPaused(object) !== wanted;
  const annotations = { [PAUSE_ANNOTATION]: wanted ? "true" : null };
  if (changed) await cluster.client.mergePatch(kind, object.metadata, { metadata: { annotations } });
  return written({ object: typedName(kind, object.metadata), did: wanted ? "paused" : "resumed", changed });
}
