import { randomUUID } from "node:crypto";
import { type Condition, findCondition, messageOf, type Stored } from "kube-controller-runtime";
import { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import { controlPlaneConditions } from "../../operator/conditions.ts";
import { answerMark, CHECK_ANNOTATION } from "../../operator/upgrade/check.ts";
import { type Cluster, listAll } from "../cluster.ts";
import { answer, type Command, CommandError, type Context, EXIT } from "../command.ts";
import { completeObjects, typedName } from "../objects.ts";
import { mark, paragraph } from "../terminal/lines.ts";
import type { OutputStyle } from "../terminal/output-style.ts";
import { type Line, span } from "../terminal/text.ts";

const CONDITION = controlPlaneConditions.upgradePossible.type;
const POLL_MS = 1_000;
const PATIENCE_MS = 60_000;

/** The operator's verdict on an upgrade. */
interface UpgradeAnswer {
  readonly object: string;
  readonly image: string;
  readonly possible: boolean;
  readonly reason: string;
  readonly message: string;
}

export const upgradeCheck: Command = {
  name: "upgrade check",
  summary: "Check whether an upgrade to an image could start, without changing anything",
  details: `Sets the annotation ${CHECK_ANNOTATION}, waits for the condition ${CONDITION}, and removes the annotation. Exits with code 3 if something blocks the upgrade.`,
  arguments: [
    { name: "image", summary: "the image to upgrade to" },
    {
      name: "name",
      summary: "the control plane; optional if the namespace has only one",
      optional: true,
      complete: completeObjects(CoderControlPlane),
    },
  ],
  examples: [
    {
      does: "Before a maintenance window",
      line: "kubectl coder upgrade check ghcr.io/coder/coder:v2.36.1 -n coder",
    },
  ],
  run: async (context, { arguments: [image = "", name] }) => {
    if (!/^\S+$/.test(image))
      throw new CommandError("Specify the image, for example ghcr.io/coder/coder:v2.36.1.", EXIT.usage);
    const cluster = await context.connect();
    const object = await controlPlaneNamed(cluster, name);
    const request = randomUUID();
    const question = `${image} ${request}`;
    await ask(cluster, object, question);
    const asked = { object, question, request };
    try {
      const { status, reason, message } = await answered(asked, { cluster, context });
      const note = await takenBack(asked, cluster);
      const own = message.slice(0, -answerMark(request).length).trimEnd();
      const possible = status === "True";
      const said = { possible, reason, message: [own, ...note].join(" ") };
      const data = { object: typedName(CoderControlPlane, object.metadata), image, ...said };
      return answer(data, answerLines, possible ? EXIT.fine : EXIT.attention);
    } catch (error) {
      await takenBack(asked, cluster);
      throw error;
    }
  },
};

/** The question of this run. */
interface Asked {
  readonly object: Stored<CoderControlPlane>;
  readonly question: string;
  readonly request: string;
}

/**
 * Restores the annotation as the user set it, and removes one that an interrupted run left. Skipped if
 * another client has asked meanwhile. Resolves with a warning if that fails: the answer is still valid.
 */
async function takenBack({ object, question }: Asked, cluster: Cluster): Promise<string[]> {
  const before = object.metadata.annotations?.[CHECK_ANNOTATION];
  const isPersons = before !== undefined && !/\s/.test(before.trim());
  try {
    const present = await cluster.client.get(CoderControlPlane, object.metadata);
    if (present.metadata.annotations?.[CHECK_ANNOTATION] === question)
      await ask(cluster, object, isPersons ? before : null);
    return [];
  } catch (error) {
    return [`The annotation ${CHECK_ANNOTATION} could not be removed: ${messageOf(error)}.`];
  }
}

async function controlPlaneNamed(
  cluster: Cluster,
  name: string | undefined,
): Promise<Stored<CoderControlPlane>> {
  const { client, homeNamespace: namespace } = cluster;
  if (name !== undefined)
    return client.get(CoderControlPlane, { namespace, name: name.replace(/^.*\//, "") });
  const all = await listAll(client, CoderControlPlane, { namespace });
  const [only, ...others] = all;
  if (!only) throw new CommandError(`There is no CoderControlPlane in namespace "${namespace}".`);
  if (others.length > 0)
    throw new CommandError(`Namespace "${namespace}" has several control planes: specify one.`);
  return only;
}

async function ask(
  { client }: Cluster,
  { metadata }: Stored<CoderControlPlane>,
  question: string | null,
): Promise<void> {
  await client.mergePatch(CoderControlPlane, metadata, {
    metadata: { annotations: { [CHECK_ANNOTATION]: question } },
  });
}

/** The condition, once it answers this question. */
async function answered(
  { object, question, request }: Asked,
  { cluster, context }: { readonly cluster: Cluster; readonly context: Context },
): Promise<Condition> {
  const { clock, signal } = context;
  const until = clock.monotonic() + PATIENCE_MS;
  for (;;) {
    const { metadata, status } = await cluster.client.get(CoderControlPlane, object.metadata);
    const condition = findCondition(status?.conditions, CONDITION);
    if (condition?.message.endsWith(answerMark(request))) return condition;
    if (metadata.annotations?.[CHECK_ANNOTATION] !== question)
      throw new CommandError("Another client is checking an upgrade of this control plane. Try again.");
    if (clock.monotonic() >= until)
      throw new CommandError(
        `The operator did not respond within ${PATIENCE_MS / 1_000} s. To check the operator, run: kubectl coder check`,
      );
    await clock.sleep(POLL_MS, signal);
  }
}

function answerLines({ object, possible, reason, message }: UpgradeAnswer, style: OutputStyle): Line[] {
  const head = [mark(possible ? "good" : "wrong", style), span(` ${object}`, "bold"), span(` ${reason}`)];
  return [head, ...paragraph(message, style, "  ")];
}
