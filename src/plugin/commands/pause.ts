import { isPaused, PAUSE_ANNOTATION } from "../../operator/pause.ts";
import { answer, type Command, type Context } from "../command.ts";
import { completeObjects, findObject, typedName } from "../objects.ts";
import { type Written, writtenLines } from "./written.ts";

const object = {
  name: "object",
  summary: "kind/name, as provisioner/linux, or a name that only one of our kinds has",
  complete: completeObjects(),
};

export const pause: Command = {
  name: "pause",
  summary: "Keep the operator from working for an object",
  details: `Sets the annotation ${PAUSE_ANNOTATION}. What runs goes on running; deletion still works.`,
  arguments: [object],
  examples: [
    { does: "Change a Deployment by hand for a while", line: "kubectl coder pause provisioner/linux" },
  ],
  run: (context, { arguments: [typed = ""] }) => setPaused(context, typed, true),
};

export const resume: Command = {
  name: "resume",
  summary: "Let the operator work for an object again",
  details: `Removes the annotation ${PAUSE_ANNOTATION}. The operator catches up at once.`,
  arguments: [object],
  examples: [{ does: "Go on", line: "kubectl coder resume provisioner/linux" }],
  run: (context, { arguments: [typed = ""] }) => setPaused(context, typed, false),
};

async function setPaused(context: Context, typed: string, wanted: boolean) {
  const cluster = await context.connect();
  const { kind, object: found } = await findObject(cluster, typed);
  const name = typedName(kind, found.metadata);
  const did = wanted ? "paused" : "resumed";
  if (isPaused(found) === wanted) return answer<Written>({ object: name, did, changed: false }, writtenLines);
  const annotations = { [PAUSE_ANNOTATION]: wanted ? "true" : null };
  await cluster.client.mergePatch(kind, found.metadata, { metadata: { annotations } });
  return answer<Written>({ object: name, did, changed: true }, writtenLines);
}
