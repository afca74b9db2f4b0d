import { type BackedOff, blocked, timestamp } from "kube-controller-runtime";
import type { ControlPlaneStatus } from "../../../api/v1alpha1/control-plane.ts";
import { externalProvisionerDaemons, licenseTier } from "../../../coder/entitlements.ts";
import { type CoderFailure, mayResolve } from "../../../coder/failure.ts";
import type { Entitlements, License } from "../../../coder/model.ts";
import type { Result } from "../../../coder/result.ts";
import { withAdvice } from "../../coderd/failure.ts";
import { clusterURL } from "../../workload/exposure/service.ts";
import type { Environment, Snapshot } from "../observe.ts";
import type { ControlPlaneResult } from "../status.ts";
import { coderdClient } from "../token/check.ts";
import { listLicenses } from "./upload.ts";

const REFRESH_MS = 2 * 60_000;
/** Nodes need a moment to apply a change of a Service. */
const NEW_ADDRESS_MS = 10_000;

/** Time that the other replicas of coderd get to load a license that one of them has stored. */
const LOADING_MS = 30_000;
const LOADING_RETRY_MS = 2_000;

/** Results of coderd's licenses in this reconcile. */
export interface LicenseFacts {
  readonly entitlements: Result<Entitlements, CoderFailure>;
  readonly licenses: Result<readonly License[], CoderFailure>;
}

/**
 * Publishes the entitlements and coderd's version every two minutes and after an upload. Returns a value if
 * coderd was asked in this reconcile.
 */
export async function publishEntitlements(
  snapshot: Snapshot,
  environment: Environment,
  { token, uploaded = false }: { token: string | undefined; uploaded: boolean | undefined },
): Promise<ControlPlaneResult<LicenseFacts>> {
  if (snapshot.controlPlane.operatorAccess.kind === "disabled") return disabled;
  if (!token) return blocked("Pending", "Waiting for a ready coderd pod and operator access.");
  const { entitlements: backoff } = environment.memory;
  const url = clusterURL(snapshot.controlPlane, environment.ports.clusterDomain);
  const attempt = { inputs: url, now: snapshot.now };
  const backedOff = uploaded ? undefined : backoff.current(attempt);
  if (backedOff) return notKnown(backedOff);
  const isLoading = loadsLicense(snapshot, uploaded);
  const isUnread = isLoading && snapshot.object.status?.licenseTier === "none";
  const refreshMs = isUnread ? 0 : untilRefresh(snapshot);
  const waitMs = Math.min(refreshMs, untilNewAddress(url, snapshot, environment));
  if (!uploaded && !backoff.hasFailed && waitMs > 0)
    return { ...known(snapshot.object.status?.licenseTier ?? "unknown"), requeueAfterMs: waitMs };
  environment.memory.askedAddress = { url };
  const client = coderdClient(token, { snapshot, environment });
  const [entitlements, build, licenses] = await Promise.all([
    client.entitlements(),
    client.buildInfo(),
    listLicenses(client, snapshot, environment),
  ]);
  const value = { entitlements, licenses };
  const version = build.ok ? { version: build.value.version } : {};
  if (!entitlements.ok) {
    const result = notKnown(backoff.begin(entitlements.failure, attempt));
    return { ...result, status: { ...result.status, ...version }, value };
  }
  backoff.end();
  const hasLicenses = licenses.ok && licenses.value.length > 0;
  if (isLoading && hasLicenses && !entitlements.value.hasLicense)
    return blocked("Pending", "Waiting until all replicas of coderd have loaded the license.", {
      requeueAfterMs: LOADING_RETRY_MS,
    });
  const tier = licenseTier(entitlements.value);
  return {
    ...known(tier),
    status: {
      licenseTier: tier,
      externalProvisionerDaemonsEntitlement: externalProvisionerDaemons(entitlements.value),
      entitlementsLastChecked: timestamp(snapshot.now),
      ...version,
    },
    requeueAfterMs: REFRESH_MS,
    value,
  };
}

/** Whether a license was uploaded so recently that a replica may answer without it. */
function loadsLicense({ object, now }: Snapshot, uploaded: boolean): boolean {
  const { licenseLastApplied } = object.status ?? {};
  return uploaded || (licenseLastApplied !== undefined && now - Date.parse(licenseLastApplied) < LOADING_MS);
}

/** Remaining validity of the last result. A result from the future, due to a wrong clock, is not valid. */
function untilRefresh({ object, now }: Snapshot): number {
  const age = now - Date.parse(object.status?.entitlementsLastChecked ?? "1970-01-01T00:00:00Z");
  return age >= 0 ? REFRESH_MS - age : 0;
}

/** Delay for requests to a new address, where no pod may be listening yet. */
function untilNewAddress(url: string, { now }: Snapshot, { memory }: Environment): number {
  const asked = memory.askedAddress;
  if (!asked || asked.url === url) return Number.POSITIVE_INFINITY;
  const { changedAt = now } = asked;
  memory.askedAddress = { ...asked, changedAt };
  return changedAt + NEW_ADDRESS_MS - now;
}

function notKnown({ failure, retryInMs }: BackedOff<CoderFailure>): ControlPlaneResult<never> {
  const status = mayResolve(failure) ? {} : unknownEntitlements;
  return blocked("EntitlementsQueryFailed", withAdvice(failure), { status, requeueAfterMs: retryInMs });
}

const unknownEntitlements: Partial<ControlPlaneStatus> = {
  licenseTier: "unknown",
  externalProvisionerDaemonsEntitlement: "unknown",
};

/** Previous values may become outdated at any time, so they are not repeated. */
const disabled = blocked<ControlPlaneStatus>(
  "Disabled",
  "The entitlements are unknown because spec.operatorAccess.disabled is set.",
  { status: { ...unknownEntitlements, entitlementsLastChecked: undefined } },
);

function known(tier: string): ControlPlaneResult<never> {
  return { condition: { status: "True", reason: "Known", message: `The license tier is ${tier}.` } };
}
