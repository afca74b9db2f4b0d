import { createHash } from "node:crypto";
import { blocked, Secret, timestamp } from "kube-controller-runtime";
import type { CoderClient } from "../../../coder/client.ts";
import type { CoderFailure } from "../../../coder/failure.ts";
import { retryDelay } from "../../coderd/retry.ts";
import { readSecretValue } from "../../secret.ts";
import { type CoderdContext, coderdClient } from "../coderd.ts";
import type { Snapshot } from "../observe.ts";
import type { Result } from "./result.ts";

/** How often coderd is asked whether it still has a licence. */
const LIST_EVERY_MS = 2 * 60_000;
/** A refused token is replaced by the next run, so that one should not be long in coming. */
const RENEWED_TOKEN_MS = 1_000;

/** Whether a licence was uploaded in this run, so that entitlements are worth a look at once. */
export interface LicenseOutcome {
  readonly uploaded: boolean;
}

/** Uploads the licence when it is new to coderd, or when coderd has lost it. */
export async function ensureLicense(
  snapshot: Snapshot,
  environment: CoderdContext,
  token: string | undefined,
): Promise<Result<LicenseOutcome>> {
  const ref = snapshot.controlPlane.license;
  if (!ref) return notConfigured;
  const { namespace } = snapshot.controlPlane.identity;
  const secret = await environment.context.referenced(Secret).get({ namespace, name: ref.name });
  const jwt = readSecretValue(secret, ref.key)?.trim();
  if (!jwt) {
    const message = `Secret "${ref.name}" does not exist or has nothing under key "${ref.key}"; put the licence there`;
    return blocked("SecretMissing", message);
  }
  if (!token) return blocked("Pending", "waits for a ready pod of coderd and for operator access");
  const client = await coderdClient(snapshot.controlPlane, token, environment);
  const upload = {
    secretName: ref.name,
    jwt,
    hash: sha256(jwt),
    attempt: sha256(`${jwt}\0${token}`),
    client,
  };
  return converge(upload, snapshot, environment);
}

interface Upload {
  readonly secretName: string;
  readonly jwt: string;
  readonly hash: string;
  /** What a failure depends on: another licence or another token is worth another try at once. */
  readonly attempt: string;
  readonly client: CoderClient;
}

const notConfigured: Result<LicenseOutcome> = {
  condition: { status: "Unknown", reason: "NotConfigured", message: "spec.licenseSecretRef is not set" },
};

async function converge(
  upload: Upload,
  snapshot: Snapshot,
  environment: CoderdContext,
): Promise<Result<LicenseOutcome>> {
  const { memory } = environment;
  const failure = memory.licenseFailure;
  if (failure?.attempt === upload.attempt && snapshot.now < failure.retryAt) {
    return { ...failure.result, requeueAfterMs: failure.retryAt - snapshot.now };
  }
  if (snapshot.object.status?.licenseLastAppliedHash !== upload.hash)
    return post(upload, snapshot, environment);
  const age = snapshot.now - (memory.licenseListedAt ?? 0);
  if (age < LIST_EVERY_MS) return unchanged(upload, LIST_EVERY_MS - age);
  const listed = await upload.client.licenses();
  if (!listed.ok) return notListed(listed.failure, upload, { snapshot, environment });
  if (listed.value.length === 0) return post(upload, snapshot, environment);
  memory.licenseListedAt = snapshot.now;
  delete memory.rateLimited;
  return unchanged(upload, LIST_EVERY_MS);
}

/** A coderd that does not answer has not lost its licence for that. */
function notListed(failure: CoderFailure, upload: Upload, run: LicenseRun): Result<LicenseOutcome> {
  if (failure.kind !== "transient" && failure.kind !== "rateLimited") return problem(failure, upload, run);
  const { memory, ports } = run.environment;
  const retryMs = retryDelay(failure, memory, ports.random);
  memory.licenseListedAt = run.snapshot.now + retryMs - LIST_EVERY_MS;
  return unchanged(upload, retryMs);
}

async function post(
  upload: Upload,
  snapshot: Snapshot,
  environment: CoderdContext,
): Promise<Result<LicenseOutcome>> {
  const { memory, context } = environment;
  const added = await upload.client.addLicense(upload.jwt);
  // coderd keeps every licence that it was ever given, so one that it has already is as good as a new one.
  if (!added.ok && added.failure.kind !== "duplicate")
    return problem(added.failure, upload, { snapshot, environment });
  delete memory.licenseFailure;
  delete memory.rateLimited;
  memory.licenseListedAt = snapshot.now;
  const what = added.ok ? "uploaded" : "coderd already has";
  const message = `${what} the licence from Secret "${upload.secretName}"`;
  context.events.event(snapshot.object, { type: "Normal", reason: "LicenseApplied", message });
  return {
    ...applied(upload),
    status: { licenseLastApplied: timestamp(snapshot.now), licenseLastAppliedHash: upload.hash },
    value: { uploaded: true },
    requeueAfterMs: LIST_EVERY_MS,
  };
}

function applied({ secretName }: Upload): Result<LicenseOutcome> {
  const message = `coderd has the licence from Secret "${secretName}"`;
  return { condition: { status: "True", reason: "Applied", message } };
}

function unchanged(upload: Upload, requeueAfterMs: number): Result<LicenseOutcome> {
  return { ...applied(upload), value: { uploaded: false }, requeueAfterMs };
}

interface LicenseRun {
  readonly snapshot: Snapshot;
  readonly environment: CoderdContext;
}

/** Says what went wrong and remembers when to try again, so that runs in between do not ask. */
function problem(
  failure: CoderFailure,
  { attempt }: Upload,
  { snapshot, environment }: LicenseRun,
): Result<LicenseOutcome> {
  const { memory, ports } = environment;
  const refused = failure.kind === "forbidden" && failure.why === "unauthenticated";
  // A token that this very run found good will not be found better by the next.
  if (refused && memory.token?.checkedAt !== snapshot.now) {
    delete memory.token;
    return blocked("Forbidden", failure.message, { requeueAfterMs: RENEWED_TOKEN_MS });
  }
  const retryMs = retryDelay(failure, memory, ports.random);
  const result = blocked(reasons[failure.kind], failure.message);
  memory.licenseFailure = { attempt, retryAt: snapshot.now + retryMs, result };
  return { ...result, requeueAfterMs: retryMs };
}

const reasons: Readonly<Record<CoderFailure["kind"], string>> = {
  forbidden: "Forbidden",
  notEntitled: "Forbidden",
  unsupported: "NotSupported",
  notFound: "NotSupported",
  invalid: "Error",
  duplicate: "Error",
  rateLimited: "Error",
  transient: "Error",
};

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
