import { tokenSecretKey } from "../../api/v1alpha1/defaults.ts";
import { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import type { CoderClient } from "../../coder/client.ts";
import { keyOf } from "../../runtime/object.ts";
import { withDefaults } from "../control-plane/spec.ts";
import { type SecretKey, secretKey } from "./normalise.ts";
import type { CoderPorts } from "./ports.ts";
import { openSession, type SecretReader, tokenFrom } from "./session.ts";

/** A coderd at which something was made earlier, as a status remembers it. */
export interface FormerCoderd {
  readonly namespace: string;
  readonly controlPlaneName: string | undefined;
  readonly url: string | undefined;
  /** Where tokens for it may be, the likeliest first; the control plane's own comes after them. */
  readonly credentials: readonly SecretKey[];
  /** A token that worked earlier; tried last, and only at its own URL. */
  readonly remembered?: { readonly url: string; readonly token: string } | undefined;
}

/** The ways to one URL: a client for each token, the likeliest first. */
export interface FormerSession {
  readonly url: string;
  readonly clients: readonly CoderClient[];
}

interface SessionEnvironment {
  readonly ports: Pick<CoderPorts, "coderd">;
  readonly context: SecretReader;
}

/**
 * Every way to a coderd that may have moved or lost its control plane: to where the control plane is now, and
 * to where it was. Empty when no URL or no token is left.
 */
export async function formerSessions(
  former: FormerCoderd,
  environment: SessionEnvironment,
): Promise<FormerSession[]> {
  const { namespace, controlPlaneName: name } = former;
  const { caches } = environment.context;
  const object = name ? caches.of(CoderControlPlane).get(keyOf({ namespace, name })) : undefined;
  const own = secretKey(object?.status?.operatorTokenSecretRef, tokenSecretKey);
  const tokens = await readTokens([...former.credentials, ...(own ? [own] : [])], former, environment);
  const settings = object && withDefaults(object);
  const open = (url: string, token: string) =>
    settings
      ? openSession(settings, { url, token }, environment)
      : environment.ports.coderd.client({ url, token });
  const sessions: FormerSession[] = [];
  for (const url of new Set([object?.status?.url, former.url])) {
    if (!url) continue;
    const remembered = former.remembered?.url === url ? [former.remembered.token] : [];
    const usable = [...new Set([...tokens, ...remembered])];
    const clients = await Promise.all(usable.map((token) => open(url, token)));
    if (clients.length > 0) sessions.push({ url, clients });
  }
  return sessions;
}

async function readTokens(
  refs: readonly SecretKey[],
  { namespace }: FormerCoderd,
  { context }: SessionEnvironment,
): Promise<string[]> {
  const tokens: string[] = [];
  for (const ref of refs) {
    const { value } = await tokenFrom(ref, { namespace, context });
    if (value) tokens.push(value);
  }
  return tokens;
}
