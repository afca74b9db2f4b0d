import { createHash } from "node:crypto";
import type { CoderClient } from "../../../coder/client.ts";
import type { CoderFailure } from "../../../coder/failure.ts";
import { timestamp } from "../../../runtime/clock.ts";
import { Secret } from "../../../runtime/kinds.ts";
import { retryDelay } from "../../shared/retry.ts";
import { readSecretValue } from "../../shared/secret.ts";
import { blocked } from "../../shared/steps/result.ts";
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
  const hash = createHash("sha256").update(jwt).digest("hex");
  return converge(
    {
      secretName: ref.name,
      jwt,
      hash,
      client: await coderdClient(snapshot.controlPlane, token, environment),
    },
    snapshot,
    environment,
  );
}

interface Upload {
  readonly secretName: string;
  readonly jwt: string;
  readonly hash: string;
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
  if (failure?.hash === upload.hash && snapshot.now < failure.retryAt) {
    return { ...failure.result, requeueAfterMs: failure.retryAt - snapshot.now };
  }
  if (snapshot.object.status?.licenseLastAppliedHash !== upload.hash)
    return post(upload, snapshot, environment);
  const age = snapshot.now - (memory.licenseListedAt ?? 0);
  if (age < LIST_EVERY_MS) return unchanged(upload, LIST_EVERY_MS - age);
  const listed = await upload.client.licenses();
  if (!listed.ok) return problem(listed.failure, upload, { snapshot, environment });
  if (listed.value.length === 0) return post(upload, snapshot, environment);
  memory.licenseListedAt = snapshot.now;
  return unchanged(upload, LIST_EVERY_MS);
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
  const message = `uploaded the licence from Secret "${upload.secretName}"`;
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

/** Says what went wrong and remembers when to try again, so that runs in between do not ask. */
function problem(
  failure: CoderFailure,
  { hash }: Upload,
  { snapshot, environment }: { snapshot: Snapshot; environment: CoderdContext },
): Result<LicenseOutcome> {
  const { memory, ports } = environment;
  if (failure.kind === "forbidden" && failure.why === "unauthenticated") {
    delete memory.token;
    return blocked("Forbidden", failure.message, { requeueAfterMs: RENEWED_TOKEN_MS });
  }
  const retryMs = retryDelay(failure, memory, ports.random);
  const result = blocked(reasons[failure.kind], failure.message);
  memory.licenseFailure = { hash, retryAt: snapshot.now + retryMs, result };
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
