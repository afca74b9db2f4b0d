import type { V1Status } from "@kubernetes/client-node";
import type { Wire } from "../object.ts";
import { redactText } from "../redact/redactor.ts";
import { ApiError, type ApiErrorReason } from "./error.ts";
import { MAX_BODY_BYTES, tooLarge } from "./exchange.ts";
import type { TransportResponse } from "./transport.ts";

export type StatusBody = Wire<V1Status>;

const REASON_BY_CODE: Readonly<Record<number, ApiErrorReason>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  410: "Gone",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

/** Reads a whole body; throws if it exceeds the memory limit. */
export async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > MAX_BODY_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** The error for a non-2xx response. The body may be anything, because proxies respond with HTML. */
export async function errorFromResponse(what: string, response: TransportResponse): Promise<ApiError> {
  const text = await readText(response.body).catch(() => "");
  const status = parseStatus(text) ?? { message: `HTTP ${response.status}` };
  const error = errorFromStatus(what, status, response.status);
  const retryAfter = error.retryAfter ?? retryAfterHeader(response.headers["retry-after"]);
  const { reason, code, fields } = error;
  return new ApiError(error.message, { reason, code, retryAfter, fields });
}

export function errorFromStatus(what: string, status: StatusBody, httpCode: number): ApiError {
  const code = httpCode || status.code || 0;
  const seconds = status.details?.retryAfterSeconds;
  return new ApiError(`${what}: ${redactText(status.message ?? status.reason ?? `HTTP ${code}`)}`, {
    reason: status.reason || (REASON_BY_CODE[code] ?? "InternalError"),
    code,
    retryAfter: seconds ? seconds * 1000 : undefined,
    fields: status.details?.causes?.flatMap(({ field }) => field ?? []),
  });
}

function parseStatus(text: string): StatusBody | undefined {
  try {
    const body: StatusBody = JSON.parse(text);
    return body?.kind === "Status" ? body : undefined;
  } catch {
    return undefined;
  }
}

function retryAfterHeader(value: string | string[] | undefined): number | undefined {
  const seconds = Number(Array.isArray(value) ? value[0] : value);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}
