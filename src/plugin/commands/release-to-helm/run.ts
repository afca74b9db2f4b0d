import { isDeepStrictEqual } from "node:util";
import { findCondition, type Kind, type Stored } from "kube-controller-runtime";
import { CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy } from "../../../api/v1alpha1/kinds.ts";
import { controlPlaneConditions } from "../../../operator/conditions.ts";
import { PAUSE_ANNOTATION } from "../../../operator/pause.ts";
import { versionOfImage } from "../../../operator/upgrade/versions.ts";
import type { Cluster } from "../../cluster.ts";
import { type Answer, answer, CommandError, type Context, type Given } from "../../command.ts";
import { Gaps } from "../../gaps.ts";
import { findObject, typedName } from "../../objects.ts";
import { gapLines, section } from "../../terminal/lines.ts";
import type { OutputStyle } from "../../terminal/output-style.ts";
import { type Line, span } from "../../terminal/text.ts";
import { handOver } from "./hand-over.ts";
import { dropPods, movePods } from "./pods.ts";
import { CHART_NAME, type ReleaseTarget, releaseTarget, serviceOf, waitFor } from "./target.ts";

/** Maximum time for a running operator to confirm the pause. */
const PAUSE_MS = 15_000;

interface ReleasedReport {
  readonly object: string;
  readonly release: string;
  readonly handedOver: readonly string[];
  /** Commands for the user to run, in order. */
  readonly next: readonly string[];
  readonly notes: readonly string[];
}

/** Hands a control plane over to a Helm release; the comment of each step says what it preserves. */
export async function run(context: Context, given: Given): Promise<Answer> {
  const cluster = await context.connect();
  const target = await releasedBy(cluster, context, given);
  const gaps = new Gaps();
  const notes = [...(await pauseOperator(target)), ...(await dependents(target, gaps))];
  const { selector } = (await serviceOf(target)).spec ?? {};
  if (isDeepStrictEqual(selector, target.helmLabels)) await dropPods(target);
  else await movePods(target);
  const handedOver = await handOver(target);
  const { release, ref } = target;
  const object = typedName(CoderControlPlane, ref);
  return answer({ object, release, handedOver, next: next(target), notes: [...notes, ...gaps.lines] }, lines);
}

async function releasedBy(
  cluster: Cluster,
  context: Context,
  { arguments: [typed = ""], flags }: Given,
): Promise<ReleaseTarget> {
  const { kind, object } = await findObject(
    cluster,
    typed.includes("/") ? typed : typedName(CoderControlPlane, { name: typed }),
  );
  if (kind.kind !== CoderControlPlane.kind) throw new CommandError(`"${typed}" is not a CoderControlPlane.`);
  const controlPlane = object as Stored<CoderControlPlane>;
  refuse(controlPlane);
  const [release, nameOverride] = [flags.release, flags.nameOverride].map((flag) =>
    typeof flag === "string" ? flag : CHART_NAME,
  );
  const names = { release: release ?? CHART_NAME, nameOverride: nameOverride ?? CHART_NAME };
  return releaseTarget(cluster.client, context, { object: controlPlane, ...names });
}

/** Throws if the pods or the address could not be preserved. */
function refuse({ metadata, status }: Stored<CoderControlPlane>): void {
  if (metadata.name !== CHART_NAME)
    throw new CommandError(
      `Coder's chart names its Service "${CHART_NAME}", so only a control plane with that name can keep its address. Install the chart in addition to CoderControlPlane "${metadata.name}" and switch over by DNS.`,
    );
  if (metadata.deletionTimestamp)
    throw new CommandError(`CoderControlPlane "${metadata.name}" is being deleted.`);
  const upgrading = findCondition(status?.conditions, controlPlaneConditions.upgrading.type);
  if (upgrading?.status === "True")
    throw new CommandError(
      `An upgrade of CoderControlPlane "${metadata.name}" is in progress (${upgrading.reason}). Try again after it has ended.`,
    );
}

/**
 * Stops the operator from reverting the changes. Resolves with a remark if no operator confirms the pause.
 */
async function pauseOperator(target: ReleaseTarget): Promise<string[]> {
  const { client, ref } = target;
  const annotations = { [PAUSE_ANNOTATION]: "true" };
  await client.mergePatch(CoderControlPlane, ref, { metadata: { annotations } });
  try {
    const confirmed = async () => {
      const { status } = await client.get(CoderControlPlane, ref);
      return findCondition(status?.conditions, "Paused")?.status === "True" ? true : undefined;
    };
    await waitFor(target, { what: "The operator did not confirm the pause", timeoutMs: PAUSE_MS }, confirmed);
    return [];
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return [
      "No operator confirmed the pause. Without a running operator, the deletion of the control plane waits for its finalizers.",
    ];
  }
}

/** Objects that refer to the control plane and must be deleted first. */
async function dependents({ client, ref }: ReleaseTarget, gaps: Gaps): Promise<string[]> {
  const { namespace, name } = ref;
  const kinds: readonly Kind<CoderProvisioner | CoderWorkspaceProxy>[] = [
    CoderProvisioner,
    CoderWorkspaceProxy,
  ];
  const lists = await Promise.all(
    kinds.map(async (kind) => {
      const items = (await gaps.list(client, kind, { namespace })) ?? [];
      const dependent = items.filter(({ spec }) => spec?.controlPlaneRef?.name === name);
      return dependent.map(({ metadata }) => typedName(kind, metadata));
    }),
  );
  const names = lists.flat();
  if (names.length === 0) return [];
  return [
    `The operator still manages ${names.join(", ")}. Replace them with releases of Coder's charts and delete them before the control plane.`,
  ];
}

function next({ release, ref, object, helmLabels }: ReleaseTarget): string[] {
  const { namespace, name } = ref;
  const version = versionOfImage(object.spec?.image ?? "")?.replace(/^v/, "");
  const pinned = version ? ` --version ${version}` : "";
  return [
    `helm upgrade --install ${release} coder-v2/coder --namespace ${namespace}${pinned} --values values.yaml`,
    `kubectl -n ${namespace} rollout status deployment/${helmLabels["app.kubernetes.io/name"]}`,
    `kubectl -n ${namespace} delete codercontrolplane ${name}`,
  ];
}

function lines(
  { object, release, handedOver, next: commands, notes }: ReleasedReport,
  style: OutputStyle,
): Line[] {
  return [
    [span(object, "bold"), span(` handed over to Helm release "${release}"`)],
    ...(handedOver.length > 0 ? [[span(`${handedOver.join(", ")}. The pods keep running.`, "dim")]] : []),
    ...section(
      "Now run:",
      commands.map((command) => [span(`  ${command}`)]),
    ),
    ...gapLines(notes, style),
  ];
}
