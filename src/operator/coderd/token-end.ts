import {
  type Condition,
  type ConditionState,
  fingerprint,
  type Secret,
  type StepResult,
  timestamp,
} from "kube-controller-runtime";
import type { CoderClient } from "../../coder/client.ts";

const DAY_MS = 24 * 60 * 60_000;
/** The operator does not renew provided tokens, so it warns early. */
const SOON_MS = 14 * DAY_MS;
const ASK_EVERY_MS = 60 * 60_000;

/** The token works but must be replaced soon. */
const TOKEN_EXPIRES_SOON = "TokenExpiresSoon";

/** Expiration of a generated token when its Secret was written; use may extend it. */
export const TOKEN_EXPIRY_ANNOTATION = "coder.com/token-expires-at";

/** Cached expiration of a provided token. */
export interface TokenEndMemory {
  tokenEnd?: { readonly hash: string; readonly askedAt: number; readonly endsAt: number | undefined };
}

/**
 * Expiration of a provided token in milliseconds since the epoch. Queried hourly, because some versions
 * extend tokens on use. Undefined if coderd does not report it.
 */
export async function givenTokenEnd(
  token: string,
  client: Pick<CoderClient, "tokenEnd">,
  { memory, now }: { readonly memory: TokenEndMemory; readonly now: number },
): Promise<number | undefined> {
  const hash = fingerprint([token]);
  const known = memory.tokenEnd?.hash === hash ? memory.tokenEnd : undefined;
  if (known && now >= known.askedAt && now - known.askedAt < ASK_EVERY_MS) return known.endsAt;
  const answer = await client.tokenEnd();
  const endsAt = answer.ok ? answer.value : known?.endsAt;
  memory.tokenEnd = { hash, askedAt: now, endsAt };
  return endsAt;
}

interface GivenToken {
  readonly secretName: string;
  readonly endsAt: number | undefined;
  readonly now: number;
  /** The previous condition. */
  readonly before: Condition | undefined;
  readonly emit: (type: "Warning", reason: string, message: string) => void;
}

/** Adds the expiration of a working token to the condition. The first report also emits an event. */
export function withTokenEnd<State extends ConditionState | undefined>(
  condition: State,
  { secretName, endsAt, now, before, emit }: GivenToken,
): State | ConditionState {
  if (condition?.status !== "True" || endsAt === undefined || endsAt - now >= SOON_MS) return condition;
  const day = timestamp(endsAt).slice(0, 10);
  const message = `The token in Secret "${secretName}" expires on ${day}, and the operator does not renew it; replace it.`;
  if (before?.reason !== TOKEN_EXPIRES_SOON) emit("Warning", TOKEN_EXPIRES_SOON, message);
  return { status: "True", reason: TOKEN_EXPIRES_SOON, message };
}

interface BootstrapToken extends Omit<GivenToken, "endsAt"> {
  readonly token: string;
  readonly client: Pick<CoderClient, "tokenEnd">;
  readonly memory: TokenEndMemory;
}

/** Adds the expiration of a token in `spec.bootstrap` to condition and status. */
export async function withBootstrapEnd(
  result: StepResult<object, never>,
  { token, client, memory, ...given }: BootstrapToken,
): Promise<StepResult<{ bootstrapTokenExpires?: string }, never>> {
  const endsAt = await givenTokenEnd(token, client, { memory, now: given.now });
  const condition = withTokenEnd(result.condition, { ...given, endsAt });
  return {
    ...result,
    ...(condition && { condition }),
    ...(endsAt !== undefined && { status: { bootstrapTokenExpires: timestamp(endsAt) } }),
  };
}

/** Expiration of a generated token, from the annotation of its Secret. */
export function tokenExpiry(secret: Secret): number | undefined {
  const time = Date.parse(secret.metadata?.annotations?.[TOKEN_EXPIRY_ANNOTATION] ?? "");
  return Number.isNaN(time) ? undefined : time;
}
