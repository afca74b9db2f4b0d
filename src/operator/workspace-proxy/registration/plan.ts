import type { WorkspaceProxyStatus } from "../../../api/v1alpha1/workspace-proxy.ts";
import type { WorkspaceProxy } from "../../../coder/model.ts";
import { proxyOfToken } from "../../../coder/proxy-token.ts";
import { isSameService } from "../../workload/exposure/service.ts";
import type { Registration } from "../spec.ts";

/** Facts for the decision about the registration. */
export interface RegistrationFacts {
  readonly wanted: Registration;
  /** URL of the coderd that was queried. */
  readonly coderURL: string;
  readonly recorded: WorkspaceProxyStatus;
  /** The stored token, and whether coderd accepts it. */
  readonly kept: { readonly token: string; readonly accepted: boolean } | undefined;
  /** All proxies in coderd. Absent if it was not asked in this reconcile. */
  readonly records: readonly WorkspaceProxy[] | undefined;
  /** The proxy from a recent response of coderd, while it is valid. */
  readonly recent: WorkspaceProxy | undefined;
}

/**
 * The next action to register the proxy as specified, with a stored token:
 *
 *     ask ──► register ───► keep
 *      ├────► regenerate ──► keep
 *      ├────► update ──────► keep
 *      └────► refuse
 */
export type RegistrationPlan =
  | { readonly do: "keep"; readonly record: WorkspaceProxy; readonly token: string }
  /** The decision needs the proxies in coderd. */
  | { readonly do: "ask" }
  | { readonly do: "register" }
  | { readonly do: "update"; readonly record: WorkspaceProxy; readonly token: string }
  | { readonly do: "regenerate"; readonly record: WorkspaceProxy; readonly because: string }
  /** A different proxy has the name. `own` is the proxy of this object under another name. */
  | { readonly do: "refuse"; readonly own: WorkspaceProxy | undefined };

/** Decides by the observed state, not by history, so that it is correct after a crash at any point. */
export function planRegistration(facts: RegistrationFacts): RegistrationPlan {
  const { wanted, kept, records, recent } = facts;
  if (!records) return recent && kept ? { do: "keep", record: recent, token: kept.token } : { do: "ask" };
  const own = ownRecord(facts, records);
  const named = byName(records, wanted.proxyName);
  if (named && named.id !== own?.id) return { do: "refuse", own };
  if (!own) return { do: "register" };
  if (!kept) return { do: "regenerate", record: own, because: "it was lost" };
  if (!isTokenOf(own, kept))
    return { do: "regenerate", record: own, because: "coderd rejected the previous token" };
  return { do: isAsWanted(own, wanted) ? "keep" : "update", record: own, token: kept.token };
}

/** The record of this proxy: it has the recorded ID, the claimed name, or the ID in the stored token. */
function ownRecord(facts: RegistrationFacts, records: readonly WorkspaceProxy[]): WorkspaceProxy | undefined {
  const { wanted, recorded, kept } = facts;
  const noted = records.find(({ id }) => id === recorded.proxyID);
  const named = byName(records, wanted.proxyName);
  return noted ?? byName(records, claimedName(facts)) ?? (isTokenOf(named, kept) ? named : undefined);
}

/**
 * The name is recorded before the registration, and the ID afterwards. If only a name is recorded, the
 * registration was interrupted. Earlier releases recorded only that the proxy is registered.
 */
function claimedName({ wanted, coderURL, recorded }: RegistrationFacts): string | undefined {
  if (recorded.proxyID) return undefined;
  if (recorded.proxyName) return isSameService(recorded.coderURL, coderURL) ? recorded.proxyName : undefined;
  return recorded.registered ? wanted.proxyName : undefined;
}

function isTokenOf(record: WorkspaceProxy | undefined, kept: RegistrationFacts["kept"]): boolean {
  return kept?.accepted === true && proxyOfToken(kept.token) === record?.id;
}

/** Names in coderd are not case-sensitive. */
function byName(records: readonly WorkspaceProxy[], wanted: string | undefined): WorkspaceProxy | undefined {
  return records.find(({ name }) => name.toLowerCase() === wanted?.toLowerCase());
}

/** Ignores values that the spec does not set. */
function isAsWanted({ name, displayName, icon }: WorkspaceProxy, wanted: Registration): boolean {
  return (
    name === wanted.proxyName &&
    (wanted.displayName === "" || displayName === wanted.displayName) &&
    (wanted.icon === "" || icon === wanted.icon)
  );
}
