import { fingerprint } from "kube-controller-runtime";
import type { CoderClient } from "../../../coder/client.ts";
import { redact } from "../../../coder/redact.ts";
import { withAdvice } from "../../coderd/failure.ts";
import { openSession } from "../../coderd/session.ts";
import { openInside } from "../../inside/access.ts";
import { collections } from "../../inside/coderd.ts";
import type { SecretKey } from "../../normalize.ts";
import { clusterURL } from "../../workload/exposure/service.ts";
import type { Tenancy } from "../../workload/rbac/tenancy.ts";
import { DATABASE_RETRY_MS } from "../memory.ts";
import type { Environment, Snapshot } from "../observe.ts";

/** Interval to check a working token, in case it was revoked. */
const CHECK_EVERY_MS = 10 * 60_000;

const OWNER_ROLE = "owner";

/** Input of the steps that use coderd. */
export interface TokenRun {
  readonly snapshot: Snapshot;
  readonly environment: Environment;
  /**
   * Whether coderd's own Service selects its pods, so that tokens may be sent there, and whether one is
   * ready.
   */
  readonly serviceSelectsPods: boolean;
  readonly isServing: boolean;
  /** Namespace of the operator. */
  readonly tenancy: Pick<Tenancy, "operatorNamespace">;
}

/**
 * Whether coderd accepts a token and its permissions suffice. `lacksMembership`: the operator is not a member
 * of all organizations.
 */
export type TokenCheck = { readonly nextCheckMs: number } & (
  | { readonly verdict: "good"; readonly lacksMembership?: boolean }
  | { readonly verdict: "rejected" | "unclear"; readonly message: string }
);

/** Client for the control plane's coderd at its Service. Without a token for unauthenticated requests. */
export function coderdClient(
  token: string | undefined,
  { snapshot, environment }: Pick<TokenRun, "snapshot" | "environment">,
): CoderClient {
  const { controlPlane, sources } = snapshot;
  const url = clusterURL(controlPlane, environment.ports.clusterDomain);
  return openSession(controlPlane, { url, token }, { ...environment, sources });
}

/**
 * Checks the token with coderd, unless this was done a few minutes ago. `membership`: also checks whether its
 * user is a member of all organizations, which the database ensures for the tokens that it confirms.
 */
export async function checkToken(
  token: string,
  run: TokenRun,
  { membership = false } = {},
): Promise<TokenCheck> {
  const { snapshot, environment, isServing } = run;
  const { memory } = environment;
  const hash = fingerprint([token]);
  const age = memory.goodToken?.hash === hash ? snapshot.now - memory.goodToken.checkedAt : CHECK_EVERY_MS;
  if (age < CHECK_EVERY_MS) return { verdict: "good", nextCheckMs: CHECK_EVERY_MS - age };
  if (!isServing)
    return unclear("The token could not be checked because the Service of coderd has no ready pod yet.");
  const [user, organizations] = await Promise.all([
    coderdClient(token, run).currentUser(),
    membership ? organizationsOf(token, run) : undefined,
  ]);
  if (!user.ok && user.failure.kind !== "forbidden") return unclear(withAdvice(user.failure));
  const refusal = user.ok ? lacksRole(user.value) : user.failure.message;
  if (refusal !== undefined) {
    delete memory.goodToken;
    return { verdict: "rejected", message: refusal, nextCheckMs: DATABASE_RETRY_MS };
  }
  memory.goodToken = { hash, checkedAt: snapshot.now };
  // New organizations may exist since the user became a member of all.
  const memberOf = user.ok ? user.value.organizationIds : [];
  const lacksMembership =
    user.ok && organizations?.ok === true && organizations.value.some(({ id }) => !memberOf.includes(id));
  return { verdict: "good", lacksMembership, nextCheckMs: CHECK_EVERY_MS };
}

/** The organizations of coderd, which the objects that describe them also read. */
function organizationsOf(token: string, { snapshot, environment }: TokenRun) {
  const { controlPlane: settings, object } = snapshot;
  const url = clusterURL(settings, environment.ports.clusterDomain);
  const controlPlane = { settings, status: object.status ?? {}, url };
  return openInside({ controlPlane, token }, snapshot, environment.ports).read(collections.organizations);
}

/**
 * Whether the last check of the token succeeded. Used while coderd does not respond. A new process uses the
 * status.
 */
export function wasGood(token: string, { name }: SecretKey, { snapshot, environment }: TokenRun): boolean {
  const { status } = snapshot.object;
  if (!status?.operatorAccessReady || status.operatorTokenSecretRef?.name !== name) return false;
  const known = environment.memory.goodToken;
  return known === undefined || known.hash === fingerprint([token]);
}

function unclear(message: string): TokenCheck {
  return { verdict: "unclear", message, nextCheckMs: DATABASE_RETRY_MS };
}

function lacksRole(user: { readonly username: string; readonly roles: readonly string[] }) {
  if (user.roles.includes(OWNER_ROLE)) return undefined;
  return `User "${redact(user.username)}" does not have the role ${OWNER_ROLE}.`;
}
