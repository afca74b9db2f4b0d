import { type CoreEvent, keyOf, type Stored } from "kube-controller-runtime";
import { controlPlaneDefaults, firstAdminDefaults } from "../../../api/v1alpha1/defaults.ts";
import {
  type CoderControlPlane,
  type CoderGroup,
  type CoderOrganization,
  CoderProvisioner,
  type CoderWorkspaceProxy,
} from "../../../api/v1alpha1/kinds.ts";
import { defined, distinctBy, unlessEmpty } from "../../../operator/normalize.ts";
import { isPaused } from "../../../operator/pause.ts";
import { type OurObject, typedName } from "../../objects.ts";
import { type Problem, problemsOf } from "../../problems.ts";
import { certificateSecrets, certificatesOf, daysUntil } from "./certificates.ts";
import { type Gathered, ownerKeyOf } from "./gather.ts";
import {
  entityReport,
  eventReports,
  exposureOf,
  groupReport,
  poolReport,
  proxyReport,
  stateOf,
} from "./parts.ts";
import type {
  Certificate,
  ControlPlaneReport,
  FirstAdmin,
  License,
  StatusReport,
  Upgrade,
} from "./report.ts";

const MAX_EVENTS = 8;
/** Enough days for a manual renewal; automatic renewal happens earlier. */
const CERTIFICATE_DAYS = 14;

/** The objects that name a control plane. */
interface Family {
  readonly provisioners: readonly Stored<CoderProvisioner>[];
  readonly proxies: readonly Stored<CoderWorkspaceProxy>[];
  readonly organizations: readonly Stored<CoderOrganization>[];
  readonly groups: readonly Stored<CoderGroup>[];
}

/** The report, grouped by control plane, with those that need attention first. */
export function assemble(gathered: Gathered, now: number): Omit<StatusReport, "gaps"> {
  const families = familiesOf(gathered);
  const events = Map.groupBy(gathered.events, ({ involvedObject: about }) =>
    keyOf({ namespace: about.namespace, name: typedName(about, about) }),
  );
  const controlPlanes = gathered.controlPlanes
    .map((object) => {
      const family = families.of(object);
      const mine = [object, ...membersOf(family)];
      const recent = mine.flatMap(
        (each) => events.get(keyOf({ namespace: each.metadata.namespace, name: nameOf(each) })) ?? [],
      );
      return controlPlaneReport(object, { gathered, family, events: recent, now });
    })
    .sort((a, b) => urgency(a) - urgency(b) || (a.name < b.name ? -1 : 1));
  return { controlPlanes, others: families.others.flatMap((object) => problemsOf(nameOf(object), object)) };
}

function familiesOf(gathered: Gathered) {
  const present = new Set(gathered.controlPlanes.map(({ metadata }) => keyOf(metadata)));
  const provisioners = Map.groupBy(gathered.provisioners, ownerKeyOf);
  const proxies = Map.groupBy(gathered.proxies, ownerKeyOf);
  const organizations = Map.groupBy(gathered.organizations, ownerKeyOf);
  const groups = Map.groupBy(gathered.groups, ownerKeyOf);
  return {
    of({ metadata }: Stored<CoderControlPlane>): Family {
      const key = keyOf(metadata);
      return {
        provisioners: provisioners.get(key) ?? [],
        proxies: proxies.get(key) ?? [],
        organizations: organizations.get(key) ?? [],
        groups: groups.get(key) ?? [],
      };
    },
    others: membersOf(gathered).filter((object) => !present.has(ownerKeyOf(object))),
  };
}

function membersOf({ provisioners, proxies, organizations, groups }: Family) {
  return [...provisioners, ...proxies, ...organizations, ...groups];
}

interface Material {
  readonly gathered: Gathered;
  readonly family: Family;
  readonly events: readonly Stored<CoreEvent>[];
  readonly now: number;
}

function controlPlaneReport(object: Stored<CoderControlPlane>, material: Material): ControlPlaneReport {
  const { gathered, family, now } = material;
  const { metadata, spec, status } = object;
  const named = [object, ...family.proxies].flatMap((one) => certificateSecrets(one, gathered.gateways));
  // Listeners, control planes and proxies may share a certificate.
  const each = distinctBy(named, (secret) => `${keyOf(secret)} ${secret.servedBy}`);
  const certificates = certificatesOf(each, gathered.secrets, now);
  const { conditions, version, url } = status ?? {};
  const image = spec?.image ?? controlPlaneDefaults.image;
  return {
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    ready: stateOf(conditions, "Ready"),
    paused: isPaused(object),
    ...defined({ health: stateOf(conditions, "Healthy"), version, image, upgrade: upgradeOf(object) }),
    ...defined({ announced: announcedBy(object) }),
    pods: { ready: status?.readyReplicas ?? 0, wanted: spec?.replicas ?? controlPlaneDefaults.replicas },
    ...defined({ url, exposure: exposureOf(object), firstAdmin: firstAdminOf(object) }),
    certificates,
    ...defined({ license: licenseOf(object, now), builds: stateOf(conditions, "BuildsServed") }),
    isCoderdAsked: gathered.queues !== undefined,
    pools: family.provisioners.map((pool) => poolOf(pool, gathered, now)),
    proxies: family.proxies.map(proxyReport),
    organizations: byUrgency(family.organizations).map(entityReport),
    groups: byUrgency(family.groups).map(groupReport),
    problems: problemsIn(object, family, certificates),
    events: eventReports(material.events).slice(0, MAX_EVENTS),
  };
}

function poolOf(pool: Stored<CoderProvisioner>, { podsOf, queues }: Gathered, now: number) {
  const queue = queues?.get(pool.status?.organizationID ?? "");
  return poolReport(pool, { pods: podsOf?.({ kind: CoderProvisioner, object: pool }), queue, now });
}

/** Problems that need attention come first. */
function problemsIn(
  object: Stored<CoderControlPlane>,
  family: Family,
  certificates: readonly Certificate[],
): Problem[] {
  const all = [object, ...membersOf(family)].flatMap((each) => problemsOf(nameOf(each), each));
  const ending = certificates.flatMap((certificate) => ends(nameOf(object), certificate));
  return [...all, ...ending].sort((a, b) => Number(b.severity === "wrong") - Number(a.severity === "wrong"));
}

function ends(object: string, { secret, servedBy, daysLeft, isMissing }: Certificate): Problem[] {
  const wrong = { severity: "wrong", object, condition: "Certificate" } as const;
  if (isMissing) {
    const message = `Secret "${secret}", which contains the certificate of ${servedBy}, does not exist; create it.`;
    return [{ ...wrong, reason: "SecretMissing", message }];
  }
  if (daysLeft === undefined || daysLeft >= CERTIFICATE_DAYS) return [];
  const when = daysLeft < 0 ? "has expired" : `expires in ${daysLeft} days`;
  const message = `The certificate in Secret "${secret}", which ${servedBy} serves, ${when}; renew it.`;
  return [{ ...wrong, reason: "ExpiresSoon", message }];
}

function licenseOf({ status }: Stored<CoderControlPlane>, now: number): License | undefined {
  const { license, licenseTier } = status ?? {};
  if (!license) return licenseTier === undefined ? undefined : { tier: licenseTier };
  const end = license.expires === undefined ? undefined : Date.parse(license.expires);
  return end === undefined ? license : { ...license, daysLeft: daysUntil(end, now) };
}

function firstAdminOf({ spec, status }: Stored<CoderControlPlane>): FirstAdmin | undefined {
  if (!spec?.firstAdmin) return undefined;
  const { username = firstAdminDefaults.username } = spec.firstAdmin;
  const passwordSecret = status?.firstAdmin?.passwordSecretRef?.name;
  return { username, ...defined({ state: stateOf(status?.conditions, "FirstAdminReady"), passwordSecret }) };
}

function upgradeOf({ status }: Stored<CoderControlPlane>): Upgrade | undefined {
  const { upgrade } = status ?? {};
  if (!upgrade || upgrade.stage === "Completed") return undefined;
  const { stage, from, to, since, message } = upgrade;
  return { stage, from, to, since, ...defined({ message }) };
}

/** Effects of an upgrade that users notice until it ends. */
function announcedBy({ status }: Stored<CoderControlPlane>): string[] | undefined {
  const { banner, prebuilds } = status?.announcement ?? {};
  const isThere = (notice: typeof prebuilds) => notice !== undefined && notice.state !== "Skipped";
  return unlessEmpty([
    ...(isThere(banner) ? ["banner"] : []),
    ...(isThere(prebuilds) ? ["prebuilds paused"] : []),
  ]);
}

/** A control plane may have hundreds of groups: those that need attention come first. */
function byUrgency<T extends OurObject>(objects: readonly Stored<T>[]): readonly Stored<T>[] {
  const ranked = objects.map((object) => {
    return { object, rank: urgency({ problems: problemsOf(nameOf(object), object) }) };
  });
  return ranked.sort((a, b) => a.rank - b.rank).map(({ object }) => object);
}

function urgency({ problems }: Pick<ControlPlaneReport, "problems">): number {
  return problems.some(({ severity }) => severity === "wrong") ? 0 : problems.length > 0 ? 1 : 2;
}

function nameOf(object: Stored<OurObject>): string {
  return typedName(object, object.metadata);
}
