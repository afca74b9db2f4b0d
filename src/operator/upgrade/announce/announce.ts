import type { UpgradeStatus } from "../../../api/v1alpha1/upgrade.ts";
import type { UpgradeRun } from "../observe.ts";
import { stages } from "../stages.ts";
import { type NoticeOutcome, settleNotice } from "./effect.ts";
import { bannerNotice, prebuildsNotice } from "./notice.ts";
import type { Phase } from "./plan.ts";

/** Status of the announcement of an upgrade, and when to check it again. */
export interface Announced {
  readonly note: string;
  readonly requeueAfterMs: number;
}

/**
 * Announces an upgrade as its stage requires, and removes the announcement afterwards. Failures of coderd
 * never block an upgrade. Resolves with `undefined` if the reconcile must stop.
 */
export async function announce(
  run: UpgradeRun,
  upgrade: UpgradeStatus | undefined,
): Promise<Announced | undefined> {
  const { snapshot, environment } = run;
  const { banner: wanted, pausesPrebuilds } = snapshot.controlPlane.upgrade.announce;
  const { banner, prebuilds } = environment.own.latest.status?.announcement ?? {};
  const text = banner?.text ?? wanted ?? "";
  const obstacle = obstacleTo(run);
  const shown = await settleNotice(
    { ...run, notice: bannerNotice(text) },
    { phase: phaseOf(wanted !== undefined, upgrade), record: banner, text, obstacle },
  );
  const paused =
    shown &&
    (await settleNotice(
      { ...run, notice: prebuildsNotice },
      { phase: phaseOf(pausesPrebuilds, upgrade), record: prebuilds, obstacle },
    ));
  return paused && together([shown, paused]);
}

function phaseOf(isWanted: boolean, upgrade: UpgradeStatus | undefined): Phase {
  return isWanted && upgrade ? stages[upgrade.stage].announcement : "putBack";
}

function obstacleTo({ snapshot, session }: UpgradeRun): string | undefined {
  if (!session) return "The operator has no access to coderd; see condition OperatorAccessReady.";
  const { readyReplicas = 0 } = snapshot.deployment?.status ?? {};
  return readyReplicas > 0 ? undefined : "No coderd pod is ready.";
}

function together(outcomes: readonly NoticeOutcome[]): Announced {
  return {
    note: outcomes.flatMap(({ note }) => note ?? []).join(" "),
    requeueAfterMs: Math.min(
      ...outcomes.map(({ requeueAfterMs = Number.POSITIVE_INFINITY }) => requeueAfterMs),
    ),
  };
}
