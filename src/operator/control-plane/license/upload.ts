import { createHash } from "node:crypto";
import {
  blocked,
  type Effect,
  findCondition,
  fingerprint,
  type Needs,
  type Progress,
  type Settled,
  settle,
  timestamp,
} from "kube-controller-runtime";
import type { CoderClient } from "../../../coder/client.ts";
import { type CoderFailure, mayResolve } from "../../../coder/failure.ts";
import type { License } from "../../../coder/model.ts";
import type { Result } from "../../../coder/result.ts";
import { reasonOf, withAdvice } from "../../coderd/failure.ts";
import { secretText } from "../../sources.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { type ControlPlaneResult, conditionTypes, unknown } from "../status.ts";
import { coderdClient } from "../token/check.ts";

/** Interval to check whether coderd still has a license. */
const LIST_EVERY_MS = 2 * 60_000;
/** The next reconcile replaces a rejected token, so it should follow soon. */
const RENEWED_TOKEN_MS = 1_000;

/**
 * Lists licenses once for all steps of a reconcile. The result also confirms to the next reconcile that
 * coderd still has a license.
 */
export async function listLicenses(
  client: Pick<CoderClient, "licenses">,
  { now }: Snapshot,
  { memory }: Environment,
): Promise<Result<readonly License[], CoderFailure>> {
  if (memory.listedLicenses?.at === now) return memory.listedLicenses.answer;
  const answer = await client.licenses();
  memory.listedLicenses = { at: now, answer };
  if (answer.ok && answer.value.length > 0) memory.licenseListedAt = now;
  return answer;
}

/** State of the license in a reconcile. */
interface LicenseState {
  /** Hash of the last uploaded license. */
  readonly appliedHash: string | undefined;
  /** Whether coderd lists a license. Absent if it was not asked in this reconcile. */
  readonly isListed: boolean | undefined;
  readonly isUploaded: boolean;
  readonly isFresh: boolean;
}

/** `list`: check whether coderd still has a license. */
type LicensePlan = { readonly do: "keep" | "list" | "upload" };

/** Uploads a license that is new to coderd or that coderd has lost. coderd keeps all uploaded licenses. */
export function planLicense(
  { appliedHash, isListed }: Pick<LicenseState, "appliedHash" | "isListed">,
  { hash, isListDue }: { readonly hash: string; readonly isListDue: boolean },
): LicensePlan {
  if (appliedHash !== hash || isListed === false) return { do: "upload" };
  return { do: isListDue && isListed === undefined ? "list" : "keep" };
}

const needs: Readonly<Record<LicensePlan["do"], Needs>> = {
  keep: "nothing",
  list: { external: true },
  upload: { external: true },
};

interface Upload {
  readonly snapshot: Snapshot;
  readonly environment: Environment;
  readonly secretName: string;
  readonly jwt: string;
  readonly hash: string;
  readonly token: string;
}

/**
 * Uploads the license if it is new to coderd or if coderd has lost it. The value tells whether it was
 * uploaded in this reconcile, so that the entitlements are refreshed immediately.
 */
export async function ensureLicense(
  snapshot: Snapshot,
  environment: Environment,
  token: string | undefined,
): Promise<ControlPlaneResult<boolean>> {
  const ref = snapshot.controlPlane.license;
  if (!ref) return unknown("NotConfigured", "spec.licenseSecretRef is not set.");
  if (snapshot.controlPlane.operatorAccess.kind === "disabled") {
    // The operator cannot know whether a user uploaded it.
    const message =
      "Operator access is disabled; upload the license manually or remove spec.licenseSecretRef.";
    return unknown("Disabled", message);
  }
  const jwt = secretText(snapshot.sources, ref);
  if (!jwt) {
    const message = `Secret "${ref.name}" does not exist or has no key "${ref.key}"; add the license.`;
    return blocked("SecretMissing", message);
  }
  if (!token) return blocked("Pending", "Waiting for a ready coderd pod and operator access.");
  const hash = createHash("sha256").update(jwt).digest("hex");
  const upload = { snapshot, environment, secretName: ref.name, jwt, hash, token };
  const { licenseLastAppliedHash: appliedHash } = snapshot.object.status ?? {};
  const start = { appliedHash, isListed: undefined, isUploaded: false, isFresh: false };
  const { license: backoff } = environment.memory;
  const options = { inputs: fingerprint([jwt, token]), now: snapshot.now, backoff };
  return report(await settle(licenseEffect(upload), start, options), upload);
}

function licenseEffect(upload: Upload): Effect<LicenseState, LicensePlan, CoderFailure> {
  const { snapshot, environment, hash } = upload;
  const age = snapshot.now - (environment.memory.licenseListedAt ?? Number.NEGATIVE_INFINITY);
  const isListDue = age >= LIST_EVERY_MS;
  return {
    plan: (state) => planLicense(state, { hash, isListDue }),
    needs: (plan) => needs[plan.do],
    act: (plan, state) => act(plan, state, upload),
  };
}

async function act(
  plan: LicensePlan,
  state: LicenseState,
  upload: Upload,
): Promise<Progress<LicenseState, CoderFailure>> {
  const { environment, hash, jwt, secretName, snapshot } = upload;
  const client = coderdClient(upload.token, upload);
  if (plan.do === "list") {
    const listed = await listLicenses(client, snapshot, environment);
    if (!listed.ok) return { failed: listed.failure };
    return { next: { ...state, isListed: listed.value.length > 0 } };
  }
  const added = await client.addLicense(jwt);
  if (!added.ok && added.failure.kind !== "duplicate") return { failed: added.failure };
  environment.memory.licenseListedAt = snapshot.now;
  delete environment.memory.listedLicenses;
  // If this status write were delayed, the next reconcile would upload the license again.
  environment.memory.nextReport = { at: snapshot.now, awaitsReport: false };
  const license = `the license in Secret "${secretName}".`;
  const message = added.ok ? `Uploaded ${license}` : `coderd already has ${license}`;
  // The event of the first report includes it.
  if (findCondition(snapshot.object.status?.conditions, conditionTypes.license))
    environment.own.emit("Normal", "LicenseApplied", message);
  return { next: { ...state, appliedHash: hash, isListed: true, isUploaded: true } };
}

type Outcome = Settled<LicenseState, LicensePlan, CoderFailure>;

function report(settled: Outcome, upload: Upload): ControlPlaneResult<boolean> {
  if (settled.end === "failed") return notApplied(settled, upload);
  const { now } = upload.snapshot;
  const { isUploaded } = settled.state;
  const status = { licenseLastApplied: timestamp(now), licenseLastAppliedHash: upload.hash };
  const requeueAfterMs = LIST_EVERY_MS - (now - (upload.environment.memory.licenseListedAt ?? now));
  return { ...applied(upload, isUploaded), ...(isUploaded ? { status } : {}), requeueAfterMs };
}

function applied({ secretName }: Upload, uploaded: boolean): ControlPlaneResult<boolean> {
  const message = `coderd has the license in Secret "${secretName}".`;
  return { condition: { status: "True", reason: "Applied", message }, value: uploaded };
}

function notApplied(
  { failure, retryInMs, isNew, plan }: Extract<Outcome, { end: "failed" }>,
  upload: Upload,
): ControlPlaneResult<boolean> {
  const { memory } = upload.environment;
  // An unreachable coderd has not lost its license.
  if (plan.do === "list" && mayResolve(failure))
    return { ...applied(upload, false), requeueAfterMs: retryInMs };
  const isRefused = failure.kind === "forbidden" && failure.why === "unauthenticated";
  // A token that was checked in this reconcile is not checked again by the next one.
  const mayRenew = isRefused && isNew && memory.goodToken?.checkedAt !== upload.snapshot.now;
  if (mayRenew) delete memory.goodToken;
  const requeueAfterMs = mayRenew ? RENEWED_TOKEN_MS : retryInMs;
  return blocked(reasonOf(failure, reasons), messageFor(failure, upload), { requeueAfterMs });
}

const reasons = {
  notEntitled: "Forbidden",
  invalid: "InvalidLicense",
  transient: "UploadFailed",
} satisfies Parameters<typeof reasonOf>[1];

function messageFor(failure: CoderFailure, { secretName }: Upload): string {
  if (failure.kind !== "invalid") return withAdvice(failure);
  return `coderd rejects the license in Secret "${secretName}"; replace it with a license for this deployment. ${failure.message}`;
}
