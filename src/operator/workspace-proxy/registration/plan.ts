import type { WorkspaceProxyStatus } from "../../../api/v1alpha1/workspace-proxy.ts";
import type { WorkspaceProxy } from "../../../coder/model.ts";
import { proxyOfToken } from "../../../coder/proxy-token.ts";
import { isSameService } from "../../workload/exposure/service.ts";
import type { Registration } from "../spec.ts";

/** All that a decision about the registration rests on. */
export interface RegistrationFacts {
  readonly wanted: Registration;
  /** URL of the coderd that was asked. */
  readonly coderURL: string;
  readonly recorded: WorkspaceProxyStatus;
  /** The token that we keep, and whether coderd would let a proxy in with it. */
  readonly kept: { readonly token: string; readonly accepted: boolean } | undefined;
  /** All proxies that coderd has; absent while it has not been asked in this run. */
  readonly records: readonly WorkspaceProxy[] | undefined;
  /** Our proxy as coderd showed it a moment ago, while that still counts. */
  readonly recent: WorkspaceProxy | undefined;
}

/**
 * What has to be done so that coderd has the proxy as the spec wants it, and we have its token:
 *
 *     ask ──► register ───► keep
 *      ├────► regenerate ──► keep
 *      ├────► update ──────► keep
 *      └────► refuse
 */
export type RegistrationPlan =
  | { readonly do: "keep"; readonly record: WorkspaceProxy; readonly token: string }
  /** The decision needs to know what coderd has. */
  | { readonly do: "ask" }
  | { readonly do: "register" }
  | { readonly do: "update"; readonly record: WorkspaceProxy; readonly token: string }
  | { readonly do: "regenerate"; readonly record: WorkspaceProxy; readonly because: string }
  /** The name is taken by a proxy that is not ours; `own` is the one that we have under another name. */
  | { readonly do: "refuse"; readonly own: WorkspaceProxy | undefined };

/** Decides by what is, not by how it came about, so it is right after a crash at any point, too. */
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

/** The record that is ours: it has the id that was noted, or the name that we claimed, or we hold its token. */
function ownRecord(facts: RegistrationFacts, records: readonly WorkspaceProxy[]): WorkspaceProxy | undefined {
  const { wanted, recorded, kept } = facts;
  const noted = records.find(({ id }) => id === recorded.proxyID);
  const named = byName(records, wanted.proxyName);
  return noted ?? byName(records, claimedName(facts)) ?? (isTokenOf(named, kept) ? named : undefined);
}

/**
 * The name is noted before the proxy is registered, and the id after. Who finds only a name has been interrupted
 * in between. Earlier releases noted nothing but that they had registered.
 */
function claimedName({ wanted, coderURL, recorded }: RegistrationFacts): string | undefined {
  if (recorded.proxyID) return undefined;
  if (recorded.proxyName) return isSameService(recorded.coderURL, coderURL) ? recorded.proxyName : undefined;
  return recorded.registered ? wanted.proxyName : undefined;
}

function isTokenOf(record: WorkspaceProxy | undefined, kept: RegistrationFacts["kept"]): boolean {
  return kept?.accepted === true && proxyOfToken(kept.token) === record?.id;
}

/** coderd keeps names apart without regard to case. */
function byName(records: readonly WorkspaceProxy[], wanted: string | undefined): WorkspaceProxy | undefined {
  return records.find(({ name }) => name.toLowerCase() === wanted?.toLowerCase());
}

/** What the spec leaves open may be as it is. */
function isAsWanted({ name, displayName, icon }: WorkspaceProxy, wanted: Registration): boolean {
  return (
    name === wanted.proxyName &&
    (wanted.displayName === "" || displayName === wanted.displayName) &&
    (wanted.icon === "" || icon === wanted.icon)
  );
}
