import type { V1ContainerStatus, V1Pod } from "@kubernetes/client-node";
import { expect } from "vitest";
import type { Observer, Sample } from "./observer.ts";
import type { Platform } from "./platform.ts";

/** Within which everything that is said of pods agrees with them, from the change of their status on. */
const TRUTH_MS = 30_000;
/** A test waits this long for a kubelet to report what it has made happen. */
const HAPPENS = { withinMs: 120_000 };

/** Something that goes wrong in the pods of an object. */
export interface Trouble {
  /** `kind/name`. */
  readonly object: string;
  /** When the status of its pods came to show it; undefined while it does not. */
  readonly since: (sample: Sample, object: string) => number | undefined;
  /** What every view says: container, exit code, last line of the log. */
  readonly says: readonly string[];
  /** False where pods were never made, so that none can be named. */
  readonly namesPod?: boolean;
}

/** How many pods of an object are ready. */
export function readyPods(sample: Sample, object: string): number {
  return sample.pods(object).filter(isReady).length;
}

function restartsOf(sample: Sample, object: string): number {
  return sample.pods(object).reduce((sum, pod) => sum + (container(pod)?.restartCount ?? 0), 0);
}

export function isReady({ status }: V1Pod): boolean {
  return status?.conditions?.some(({ type, status: state }) => type === "Ready" && state === "True") ?? false;
}

function container({ status }: V1Pod): V1ContainerStatus | undefined {
  return status?.containerStatuses?.[0];
}

/** Since a container of the pods has ended with this exit code. */
export function ended(exitCode: number): Trouble["since"] {
  return (sample, object) =>
    first(sample.pods(object), (pod) => {
      const { state, lastState } = container(pod) ?? {};
      const last = [state?.terminated, lastState?.terminated].find((end) => end?.exitCode === exitCode);
      return last && timeOf(last.finishedAt);
    });
}

/** Since a container waits for a reason that its kubelet names. */
export function waits(reason: RegExp): Trouble["since"] {
  return (sample, object) =>
    first(sample.pods(object), (pod) =>
      reason.test(container(pod)?.state?.waiting?.reason ?? "") ? statusChange(pod) : undefined,
    );
}

/** Since a condition of a pod is so. */
export function podCondition(type: string, status: string, reason?: string): Trouble["since"] {
  return (sample, object) =>
    first(sample.pods(object), (pod) => {
      const found = pod.status?.conditions?.find(
        (each) =>
          each.type === type && each.status === status && (reason === undefined || each.reason === reason),
      );
      return found && timeOf(found.lastTransitionTime);
    });
}

/** Since the API server refuses its pods for a reason. */
export function refused(words: string): Trouble["since"] {
  return (sample, object) =>
    first(sample.replicaSets(object), ({ status }) => {
      const failure = status?.conditions?.find(({ type }) => type === "ReplicaFailure");
      return failure?.message?.includes(words) ? timeOf(failure.lastTransitionTime) : undefined;
    });
}

/** Since no pod of it is ready. */
export const nothingReady: Trouble["since"] = (sample, object) =>
  readyPods(sample, object) === 0 ? sample.at : undefined;

function first<T>(items: readonly T[], timeOf: (item: T) => number | undefined): number | undefined {
  return items.map(timeOf).find((time) => time !== undefined);
}

/** When anybody last changed the status of a pod, as the API server remembers it. */
function statusChange({ metadata }: V1Pod): number {
  const times = (metadata?.managedFields ?? [])
    .filter(({ subresource }) => subresource === "status")
    .map(({ time }) => timeOf(time));
  return Math.max(...times);
}

/** The kubelet's whole seconds, as kubectl prints them. */
function timeOf(time: Date | string | undefined): number {
  return new Date(time ?? 0).getTime();
}

/** Fails unless the conditions of an object say this of its pods. */
function assertReported(sample: Sample, { object, says, namesPod = true }: Trouble): void {
  const stalled = sample.condition(object, "Stalled");
  const ready = sample.condition(object, "Ready");
  expect(stalled, `${object} Stalled`).toMatchObject({ status: "True" });
  expect(ready, `${object} Ready`).toMatchObject({ status: "False", reason: "Stalled" });
  for (const { message } of [stalled, ready].filter((each) => each !== undefined)) {
    for (const part of says) expect(message).toContain(part);
    const pods = sample.pods(object).map(({ metadata }) => metadata?.name ?? "");
    if (namesPod)
      expect(
        pods.some((pod) => message.includes(pod)),
        `a pod in: ${message}`,
      ).toBe(true);
  }
}

/**
 * The one check of every trouble: within 30 s of the change of the pods' status the conditions say it, then all that
 * people run says it, too. Returns when the conditions first did.
 */
export async function assertTruth(platform: Platform, observer: Observer, trouble: Trouble): Promise<number> {
  const { object, since } = trouble;
  const shown = await observer.first((sample) => since(sample, object), { from: 0, ...HAPPENS });
  const reported = await reportedWithin(observer, trouble, shown.value + TRUTH_MS, shown.at);
  console.warn(`${object}: reported ${Math.max(0, reported - shown.value) / 1_000} s after the pods`);
  await assertViews(platform, observer, trouble);
  return reported;
}

async function reportedWithin(observer: Observer, trouble: Trouble, until: number, from: number) {
  let failure: unknown;
  const reported = await observer
    .first(
      (sample) => {
        try {
          assertReported(sample, trouble);
          return true;
        } catch (error) {
          failure = error;
          return sample.at > until ? false : undefined;
        }
      },
      { from, withinMs: TRUTH_MS + until - Date.now() + TRUTH_MS },
    )
    .catch(() => ({ value: false, at: 0 }));
  if (!reported.value) throw failure;
  return reported.at;
}

/** What `kubectl get coder`, `kubectl coder status` and `kubectl coder why` say of an object in trouble. */
async function assertViews(platform: Platform, observer: Observer, trouble: Trouble): Promise<void> {
  const { object, says } = trouble;
  const [table, status, why] = await Promise.all([
    platform.cluster.kubectl(["get", "coder", `--namespace=${platform.namespace}`, "--no-headers"]),
    platform.kubectlCoder("status", "--output=json"),
    platform.kubectlCoder("why", object, "--output=json"),
  ]);
  const rows = table.split("\n").map((line) => line.split(/\s+/));
  const row = rows.find(([name = ""]) => name.replace(".coder.com/", "/") === object);
  const ready = observer.samples.slice(-5).map((sample) => readyPods(sample, object));
  expect(row?.slice(1, 3), `kubectl get coder: ${row}`).toEqual(["False", "Stalled"]);
  expect(ready.map(String), "ready pods in kubectl get coder").toContain(row?.[3]?.split("/")[0]);
  expect(why.code).toBe(3);
  assertSaid(why.out, sentencesOfWhy(why.out), says);
  expect(status.code).toBe(3);
  const { subject } = JSON.parse(why.out) as { subject: string };
  assertSaid(status.out, problemsOf(status.out, subject), says);
  const pool = reportOf(status.out)?.pools.find(({ name }) => object === `coderprovisioner/${name}`);
  if (!pool) return;
  expect(pool.ready).toMatchObject({ status: "False", reason: "Stalled" });
  expect(ready, "daemons in kubectl coder status").toContain(pool.daemons);
  // Dead daemons, which coderd lists for a while, do not count.
  expect((pool.busy ?? 0) + (pool.idle ?? 0)).toBeLessThanOrEqual(Math.max(...ready));
}

function assertSaid(all: string, said: string, says: readonly string[]): void {
  for (const part of says) expect(said, all).toContain(part);
}

/** Everything that `why -o json` says, as a person reads it. */
export function sentencesOfWhy(out: string): string {
  const { chain } = JSON.parse(out) as { chain: { object: string; state: string; message?: string }[] };
  return chain.map(({ object, state, message = "" }) => `${object} ${state} ${message}`).join("\n");
}

function problemsOf(out: string, object: string): string {
  const { controlPlanes, others } = JSON.parse(out) as StatusReport;
  const problems = [...controlPlanes.flatMap((each) => each.problems), ...others];
  return problems
    .filter((problem) => problem.object === object)
    .map(({ message }) => message)
    .join("\n");
}

interface StatusReport {
  readonly controlPlanes: readonly Report[];
  /** Problems of objects that belong to no control plane. */
  readonly others: Report["problems"];
}

interface Report {
  readonly pools: readonly {
    readonly name: string;
    readonly ready?: object;
    readonly daemons: number;
    readonly busy?: number;
    readonly idle?: number;
  }[];
  readonly problems: readonly { readonly object: string; readonly message: string }[];
}

/** The only control plane of `status -o json`. */
function reportOf(out: string): Report | undefined {
  return (JSON.parse(out) as StatusReport).controlPlanes[0];
}

/** The report stays the same in every sample until the containers have been restarted some more times. */
export async function assertSteady(
  observer: Observer,
  trouble: Trouble,
  { from, restarts }: { readonly from: number; readonly restarts: number },
): Promise<void> {
  const { object } = trouble;
  const [before] = observer.between(from, Number.POSITIVE_INFINITY);
  const wanted = (before ? restartsOf(before, object) : 0) + restarts;
  const { at } = await observer.first((sample) => (restartsOf(sample, object) >= wanted ? true : undefined), {
    from,
    ...HAPPENS,
  });
  for (const sample of observer.between(from, at)) assertReported(sample, trouble);
}

/** A reported problem stays in every later sample, regardless of what the pods wait for. */
export function assertNeverTakenBack({ samples }: Observer, trouble: Trouble): void {
  const first = samples.findIndex((sample) => isReported(sample, trouble));
  expect(first, `${trouble.object} was told`).not.toBe(-1);
  for (const sample of samples.slice(first)) assertReported(sample, trouble);
}

function isReported(sample: Sample, trouble: Trouble): boolean {
  try {
    assertReported(sample, trouble);
    return true;
  } catch {
    return false;
  }
}
