import { type Effect, fingerprint, type Needs, type Progress, settle } from "kube-controller-runtime";
import { allows } from "../../../coder/entitlements.ts";
import type { CoderFailure } from "../../../coder/failure.ts";
import { withAdvice } from "../../coderd/failure.ts";
import { defined } from "../../normalize.ts";
import type { UpgradeRun } from "../observe.ts";
import type { Notice } from "./notice.ts";
import { NOT_ENTITLED, type NoticeFacts, type NoticePlan, type NoticeStatus, planNotice } from "./plan.ts";

type NoticeState = NoticeFacts & { readonly isFresh: boolean };
type Step = Promise<Progress<NoticeState, CoderFailure>>;

/** A notice and what is needed to send it to coderd. */
export interface NoticeRun extends UpgradeRun {
  readonly notice: Notice;
}

/** Status of a notice, and when to check it again. */
export interface NoticeOutcome {
  readonly note?: string | undefined;
  readonly requeueAfterMs?: number | undefined;
}

/** Delay before coderd is asked again if no watch reports a change. */
const RETRY_MS = 30_000;

const needs: Readonly<Record<NoticePlan["do"], Needs>> = {
  rest: "nothing",
  read: { external: true },
  record: {},
  announce: { external: true },
  putBack: { external: true },
};

/** Advances one notice as far as possible. Resolves with `undefined` if the reconcile must stop. */
export async function settleNotice(run: NoticeRun, facts: NoticeFacts): Promise<NoticeOutcome | undefined> {
  const { notice, snapshot, environment } = run;
  const backoff = environment.memory.notices[notice.name];
  const hadFailed = backoff.hasFailed;
  const effect: Effect<NoticeState, NoticePlan, CoderFailure> = {
    plan: planNotice,
    needs: (plan) => needs[plan.do],
    act: (plan, state) => act(plan, state, run),
  };
  const options = { inputs: fingerprint([facts.phase, run.session?.token]), now: snapshot.now, backoff };
  const settled = await settle(effect, { ...facts, isFresh: true }, options);
  if (settled.end === "overtaken") return undefined;
  if (settled.end !== "failed") return outcome(settled.state, notice);
  const note = `${failureTo(facts, notice)} ${withAdvice(settled.failure)}`;
  if (settled.isNew && !hadFailed) environment.own.emit("Warning", "AnnouncementFailed", note);
  return { note, requeueAfterMs: settled.retryInMs };
}

function outcome({ phase, record, obstacle, seen }: NoticeFacts, { texts }: Notice): NoticeOutcome {
  if (phase !== "putBack") return record?.message ? { note: `${texts.notAnnounced} ${record.message}` } : {};
  const why = obstacle ?? (seen === "notEntitled" ? NOT_ENTITLED : undefined);
  return record && why ? { note: `${texts.notEnded} ${why}`, requeueAfterMs: RETRY_MS } : {};
}

function failureTo({ phase }: NoticeFacts, { texts }: Notice): string {
  return phase === "putBack" ? texts.notEnded : texts.notAnnounced;
}

async function act(plan: NoticePlan, state: NoticeState, run: NoticeRun): Step {
  if (plan.do === "rest") return { next: state };
  if (plan.do === "record") return record(plan.record, state, run);
  const { notice, session } = run;
  if (!session) throw new TypeError("a request to coderd needs a token");
  const client = session.client();
  if (plan.do === "read") {
    const entitlements = await client.entitlements();
    if (!entitlements.ok) return { failed: entitlements.failure };
    if (!allows(entitlements.value, notice.feature)) return { next: { ...state, seen: "notEntitled" } };
    const isActive = await notice.isActive(client);
    if (!isActive.ok) return { failed: isActive.failure };
    return { next: { ...state, seen: isActive.value ? "there" : "absent" } };
  }
  const done = await notice[plan.do](client);
  if (!done.ok) return { failed: done.failure };
  if (plan.do === "announce") return { next: { ...state, seen: "there" } };
  run.environment.own.emit("Normal", "AnnouncementEnded", notice.texts.ended);
  return { next: { ...state, seen: "absent" } };
}

/** Does not change a record that another process has changed, because that process has newer information. */
async function record(next: NoticeStatus | undefined, state: NoticeState, run: NoticeRun): Step {
  const { notice, environment } = run;
  let isOurs = true;
  const written = await environment.own.record(({ announcement }) => {
    const current: NoticeStatus | undefined = announcement?.[notice.name];
    isOurs = current?.state === state.record?.state || current?.state === next?.state;
    const all = defined({ ...announcement, [notice.name]: next });
    return isOurs ? { announcement: Object.keys(all).length > 0 ? all : undefined } : {};
  });
  if (!written || !isOurs) return { overtaken: true };
  report(next, run);
  return { next: { ...state, record: next } };
}

function report(
  next: NoticeStatus | undefined,
  { notice: { texts }, environment: { own } }: NoticeRun,
): void {
  if (next?.state === "Announced") own.emit("Normal", "UpgradeAnnounced", texts.announced);
  if (next?.state === "Skipped" && next.message)
    own.emit("Warning", "AnnouncementFailed", `${texts.notAnnounced} ${next.message}`);
  if (next?.state === "Skipped" && !next.message) own.emit("Normal", "UpgradeAnnounced", texts.existedBefore);
}
