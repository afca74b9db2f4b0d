import { keyOf } from "kube-controller-runtime";
import { CoderControlPlane } from "../../../api/v1alpha1/kinds.ts";
import type { CoderClient } from "../../../coder/client.ts";
import {
  openSession,
  operatorTokenRef,
  type SecretReader,
  type TokenUse,
  tokenFrom,
} from "../../control-plane/session.ts";
import { withDefaults } from "../../control-plane/spec.ts";
import { leadsToOurPods } from "../../exposure/own-service.ts";
import { clusterURL } from "../../exposure/service.ts";
import type { SecretKey } from "../../normalise.ts";
import type { CoderPorts } from "../../ports.ts";

/** A coderd at which something was made earlier, as a status remembers it. */
export interface FormerCoderd {
  readonly namespace: string;
  readonly controlPlaneName: string | undefined;
  readonly url: string | undefined;
  /** Where the spec says that people put a token for it; the control plane's own comes after it. */
  readonly given: SecretKey | undefined;
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
 * Every way to a coderd that may have moved or lost its control plane: to where the control plane is now, with every
 * token, and to where a status says it was, with a token that people gave or one that worked there earlier. No status
 * chooses which Secret is read. Empty when no URL or no token is left.
 */
export async function formerSessions(
  former: FormerCoderd,
  environment: SessionEnvironment,
): Promise<FormerSession[]> {
  const { namespace, controlPlaneName: name } = former;
  const { caches } = environment.context;
  const object = name ? caches.of(CoderControlPlane).get(keyOf({ namespace, name })) : undefined;
  const settings = object && withDefaults(object);
  const own = settings && operatorTokenRef(settings, object.status);
  const here = settings && clusterURL(settings);
  const sessions: FormerSession[] = [];
  for (const url of new Set([here, former.url])) {
    if (!url || (settings && url === here && !leadsToOurPods(settings, caches))) continue;
    const isHere = settings !== undefined && url === here;
    const recipient = isHere ? { controlPlaneUID: settings.identity.uid } : ("elsewhere" as const);
    const refs = [former.given, isHere ? own : undefined].filter((ref) => ref !== undefined);
    const tokens = await readTokens(refs, { namespace, context: environment.context, recipient });
    const remembered = former.remembered?.url === url ? [former.remembered.token] : [];
    const clients = [...new Set([...tokens, ...remembered])].map((token) =>
      settings
        ? openSession(settings, { url, token }, environment)
        : environment.ports.coderd.client({ url, token }),
    );
    if (clients.length > 0) sessions.push({ url, clients: await Promise.all(clients) });
  }
  return sessions;
}

async function readTokens(refs: readonly SecretKey[], use: TokenUse): Promise<string[]> {
  const tokens: string[] = [];
  for (const ref of refs) {
    const { value } = await tokenFrom(ref, use);
    if (value) tokens.push(value);
  }
  return tokens;
}
