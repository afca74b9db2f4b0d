import { type Decoder, UnexpectedShape } from "../decode.ts";
import type { CoderFailure } from "../failure.ts";
import { retryAfterMs } from "../rate-limit.ts";
import { redact } from "../redact.ts";
import { failed, type Result, succeeded } from "../result.ts";
import type { Answer } from "./answer.ts";

/** What a message about a response may contain. */
interface Subject {
  /** The request and its coderd, such as `GET /api/v2/licenses at http://coder`. */
  readonly request: string;
  /** Secrets in the request, which messages must not contain. */
  readonly secrets: readonly string[];
  readonly now: number;
}

type CoderError = ReturnType<typeof readError>;

/** Decodes a response, or classifies it as a failure. */
export function classify<T>(answer: Answer, decoder: Decoder<T>, subject: Subject): Result<T, CoderFailure> {
  if (answer.status === 429) return failed(rateLimited(answer, subject));
  const json = answer.status === 204 ? succeeded(undefined) : parseJson(answer, subject);
  if (!json.ok) return failed(transient(subject.request, `${json.failure} (HTTP ${answer.status})`));
  if (answer.status < 200 || answer.status >= 300) return failed(explain(answer, json.value, subject));
  try {
    return succeeded(decoder(json.value, ""));
  } catch (error) {
    if (error instanceof UnexpectedShape)
      return failed(transient(subject.request, redact(error.message, subject.secrets)));
    throw error;
  }
}

export function transient(request: string, what: string) {
  return { kind: "transient", message: sentence(`${request}: ${what}`) } as const;
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function parseJson(answer: Answer, { secrets }: Subject): Result<unknown, string> {
  if (answer.body === "") return failed("an empty body instead of JSON");
  if (/^\s*</.test(answer.body) || answer.contentType.includes("html"))
    return failed("HTML instead of JSON: the server is not the API of coderd");
  try {
    return succeeded(JSON.parse(answer.body));
  } catch {
    return failed(
      answer.contentType.includes("json")
        ? "truncated or malformed JSON"
        : `${redact(answer.contentType, secrets) || "data without a content type"} instead of JSON`,
    );
  }
}

function explain(answer: Answer, json: unknown, subject: Subject): CoderFailure {
  if (isKubernetesStatus(json))
    return transient(
      subject.request,
      `rejected by an intermediary, not by coderd (HTTP ${answer.status} ${redact(json.reason, subject.secrets)})`,
    );
  const error = readError(json);
  if (blamesDatabase(answer.status, error))
    return {
      ...transient(subject.request, `coderd cannot reach its database (HTTP ${answer.status})`),
      why: "database",
    };
  const said = redact(error.message, subject.secrets) || "no reason given";
  const message = `${subject.request}: ${said} (HTTP ${answer.status}).`;
  switch (answer.status) {
    case 400:
      return {
        kind: "invalid",
        fields: error.validations.map(({ field }) => field.slice(0, MAX_FIELD_NAME)),
        message: `${message}${validations(error, subject)}`,
      };
    case 401:
      return { kind: "forbidden", why: "unauthenticated", message };
    case 403:
      if (/is an? (premium|enterprise) feature/i.test(error.message)) return { kind: "notEntitled", message };
      return { kind: "forbidden", why: "notPermitted", message };
    case 404:
      return { kind: error.message === "Route not found." ? "unsupported" : "notFound", message };
    case 409:
      return { kind: "duplicate", message };
    case 500:
      return explainInternalError(error, { subject, message });
    default:
      return { kind: isRejection(answer.status) ? "invalid" : "transient", message };
  }
}

/**
 * coderd looks up tokens in its database. If this fails, it responds with 401 or 500, depending on the
 * version, as if the token were invalid.
 */
function blamesDatabase(status: number, { message, detail }: CoderError): boolean {
  if (message.startsWith("A database error occurred")) return status === 500;
  if (!message.startsWith("An internal error occurred.")) return false;
  return status === 401 || (status === 500 && DATABASE_DETAIL.test(detail));
}

const DATABASE_DETAIL =
  /fetching API key|fetching user's roles|API key couldn't update|update user last_seen_at/;

function isRejection(status: number): boolean {
  return status > 400 && status < 500 && status !== 408;
}

/** coderd reports some rejections as internal errors with the cause in the detail, which may be very long. */
function explainInternalError(
  error: CoderError,
  { subject, message }: { subject: Subject; message: string },
): CoderFailure {
  if (error.detail.includes("rbac: forbidden"))
    return {
      kind: "forbidden",
      why: "notPermitted",
      message: `${subject.request}: the token's user lacks the permission (HTTP 500).`,
    };
  // What has to be deleted before an organization can be.
  if (
    error.message.startsWith("Error deleting organization") &&
    error.detail.endsWith("must be deleted first.")
  )
    return { kind: "invalid", message: `${subject.request}: ${redact(error.detail, subject.secrets)}` };
  if (/licenses_jwt_key|duplicate key value/.test(error.detail))
    return { kind: "duplicate", message: `${subject.request}: it already exists (HTTP 500).` };
  return { kind: "transient", message };
}

/** A proxy in front of coderd may be the one that responds, so the body is ignored. */
function rateLimited(answer: Answer, subject: Subject): CoderFailure {
  const delay = retryAfterMs(answer.retryAfter, subject.now);
  return {
    kind: "rateLimited",
    message: `${subject.request}: too many requests (HTTP 429).`,
    ...(delay === undefined ? {} : { retryAfterMs: delay }),
  };
}

function validations(error: CoderError, subject: Subject): string {
  const problems = error.validations.map(({ field, detail }) => `${field}: ${detail}`);
  return problems.length === 0 ? "" : ` ${sentence(redact(problems.join("; "), subject.secrets))}`;
}

const MAX_FIELD_NAME = 64;

/** More than fit in a message. */
const MAX_VALIDATIONS = 20;

function readError(json: unknown) {
  const source = typeof json === "object" && json !== null ? (json as Record<string, unknown>) : {};
  const list = Array.isArray(source.validations) ? source.validations.slice(0, MAX_VALIDATIONS) : [];
  return {
    message: text(source.message),
    detail: text(source.detail),
    validations: list.map((item) => ({ field: text(item?.field), detail: text(item?.detail) })),
  };
}

/** Maximum length of error text to search for the cause. */
const MAX_ERROR_TEXT = 16 * 1024;

function text(value: unknown): string {
  return typeof value === "string" ? value.slice(0, MAX_ERROR_TEXT) : "";
}

function isKubernetesStatus(json: unknown): json is { reason: string } {
  const status = json as { kind?: unknown; apiVersion?: unknown; reason?: unknown } | null;
  return status?.kind === "Status" && status.apiVersion === "v1" && typeof status.reason === "string";
}
