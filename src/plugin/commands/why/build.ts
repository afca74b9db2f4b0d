import { findCondition, type Pod, type Stored } from "kube-controller-runtime";
import { CoderProvisioner } from "../../../api/v1alpha1/kinds.ts";
import type { Tags } from "../../../coder/provisioning.ts";
import { redact } from "../../../coder/redact.ts";
import { closestOffer, daemonTags, distinctiveTags, matchesTags } from "../../../coder/tags.ts";
import { APPS, childNameOf } from "../../../operator/names.ts";
import { lostBefore } from "../../../operator/provisioner/daemon-container.ts";
import { daemonNameOf } from "../../../operator/provisioner/deployment.ts";
import { withDefaults } from "../../../operator/provisioner/spec.ts";
import { timeOf } from "../../../operator/workload/pods/container-end.ts";
import type { PersonalCoderd } from "../../coderd.ts";
import { typedName } from "../../objects.ts";
import { explainMissingPermission } from "./missing-permission.ts";
import { explainObject } from "./object.ts";
import type { Link } from "./report.ts";
import type { Snapshot } from "./snapshot.ts";

/** The fields of a build that say why it waits or failed. */
export interface Build {
  readonly status: string;
  readonly tags: Tags;
  readonly error: string;
  /** For a failed build: the output of Terraform. */
  readonly log: string;
  readonly organizationId: string;
  /** The name of its daemon; undefined for a running build if coderd does not say. */
  readonly worker: string | undefined;
  /** When a daemon started it, if coderd says. */
  readonly startedAt: number | undefined;
}

const BUILDS = "/api/v2/workspacebuilds";

/**
 * The build, or the latest build of the workspace, that `build/<id>` or `workspace/[owner/]name` refers to.
 */
export async function findBuild(coderd: PersonalCoderd, typed: string): Promise<Build> {
  const [what, ...rest] = typed.split("/");
  if (what === "build")
    return buildOf(coderd, await coderd.get(`${BUILDS}/${encodeURIComponent(rest[0] ?? "")}`));
  const name = encodeURIComponent(rest.at(-1) ?? "");
  const owner = encodeURIComponent(rest.length > 1 ? (rest[0] ?? "") : "me");
  const workspace = recordOf(await coderd.get(`/api/v2/users/${owner}/workspace/${name}`));
  return buildOf(coderd, workspace.latest_build, textOf(workspace.organization_id));
}

async function buildOf(coderd: PersonalCoderd, value: unknown, organizationId = ""): Promise<Build> {
  const { id, job: described } = recordOf(value);
  const job = recordOf(described);
  const tags = Object.entries(recordOf(job.tags)).map(([key, tag]) => [key, textOf(tag)] as const);
  return {
    status: textOf(job.status) || "unknown",
    tags: Object.fromEntries(tags),
    error: redact(textOf(job.error)),
    log: job.status === "failed" ? await logOf(coderd, textOf(id)) : "",
    organizationId: textOf(job.organization_id) || organizationId,
    worker: await workerOf(coderd, job, organizationId),
    startedAt: timeOf(textOf(job.started_at)),
  };
}

/** A workspace and a build have only the id of the daemon; the organization's list of jobs has its name. */
async function workerOf(
  coderd: PersonalCoderd,
  job: Readonly<Record<string, unknown>>,
  organizationId: string,
): Promise<string | undefined> {
  const known = textOf(job.worker_name);
  if (known || !isUnderWay(textOf(job.status))) return known;
  const [organization, id] = [textOf(job.organization_id) || organizationId, textOf(job.id)].map(
    encodeURIComponent,
  );
  const found = await coderd
    .get(`/api/v2/organizations/${organization}/provisionerjobs/${id}`)
    .catch(() => undefined);
  return textOf(recordOf(found).worker_name) || undefined;
}

function isUnderWay(status: string): boolean {
  return status === "running" || status === "canceling";
}

/** The log is more detailed than the job's error; without it, the error is still reported. */
async function logOf(coderd: PersonalCoderd, id: string): Promise<string> {
  const lines = await coderd.get(`${BUILDS}/${encodeURIComponent(id)}/logs`).catch(() => []);
  return Array.isArray(lines) ? lines.map((line) => textOf(recordOf(line).output)).join("\n") : "";
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value.slice(0, 4_096) : "";
}

type Pool = Stored<CoderProvisioner>;

/**
 * Why a build waits: the pools that could take it and their problems, or the tag that no pool has. Why it
 * failed: the permission that its daemon lacks, if that is the reason.
 */
export function explainBuild(typed: string, build: Build, snapshot: Snapshot): Link[] {
  const { status, error, log, tags } = build;
  const self = { depth: 0, object: typed };
  if (status === "failed")
    return [
      { ...self, state: "failed", message: error || "Check its log in Coder.", severity: "wrong" },
      ...explainMissingPermission(log, snapshot),
    ];
  if (isUnderWay(status)) return explainWorker(self, build, snapshot);
  if (status !== "pending") return [];
  const waits: Link = {
    ...self,
    state: "pending",
    message: `The build waits for a daemon with the tags ${tagText(tags)}.`,
    severity: "waiting",
  };
  const pools = snapshot.provisioners.filter((pool) => isOfOrganization(pool, build.organizationId));
  const fitting = pools.filter((pool) => matchesTags(tagsOf(pool), tags));
  if (fitting.length === 0) return [waits, noPool(pools, tags)];
  return [waits, ...fitting.flatMap((pool) => explainPool(pool, snapshot))];
}

/** A build ends with its daemon; coderd notices that a few minutes later. */
function explainWorker(self: Pick<Link, "depth" | "object">, build: Build, snapshot: Snapshot): Link[] {
  const { status, worker, startedAt = Number.POSITIVE_INFINITY } = build;
  const pool = poolOf(build, snapshot);
  if (worker === undefined || !pool || !snapshot.arePodsKnown) return [];
  const found = { kind: CoderProvisioner, object: pool };
  const pod = snapshot.podsOf(found).find((each) => isDaemonOf(pool, each, worker));
  if (pod && startedAt >= lostBefore(pod)) return [];
  const what = pod ? "which has terminated" : "whose pod no longer exists";
  const message = `The build runs on daemon "${worker}", ${what}; coderd fails the build after 5 minutes without a heartbeat.`;
  const runs: Link = { ...self, state: status, message, severity: "wrong" };
  return [runs, ...explainObject(found, snapshot, 1)];
}

/** Why the state of the daemon can't be determined; undefined if it can. */
export function whyWorkerUnknown(build: Build, snapshot: Snapshot): string | undefined {
  if (!isUnderWay(build.status)) return undefined;
  if (build.worker === undefined) return "coderd does not say which daemon runs it, or you may not see it.";
  const isHidden = !snapshot.arePodsKnown && poolOf(build, snapshot) !== undefined;
  return isHidden ? "the pod of its daemon could not be read." : undefined;
}

/**
 * The pool of the build's daemon: the pool of its pod, or the one with the longest name that is a prefix of
 * the daemon's.
 */
function poolOf({ worker = "" }: Build, snapshot: Snapshot): Pool | undefined {
  const ofPod = snapshot.provisioners.find((object) =>
    snapshot.podsOf({ kind: CoderProvisioner, object }).some((pod) => isDaemonOf(object, pod, worker)),
  );
  if (ofPod) return ofPod;
  const prefix = ({ metadata }: Pool) => `${childNameOf(APPS.CoderProvisioner, metadata.name)}-`;
  return snapshot.provisioners
    .filter((pool) => worker.startsWith(prefix(pool)))
    .sort((a, b) => prefix(b).length - prefix(a).length)[0];
}

function isDaemonOf(pool: Pool, pod: Stored<Pod>, worker: string): boolean {
  return worker === daemonNameOf(withDefaults(pool), pod);
}

function isOfOrganization({ status }: Pool, id: string): boolean {
  const { organizationID } = status ?? {};
  return !id || !organizationID || organizationID === id;
}

function tagsOf({ spec }: Pool): Tags {
  return daemonTags(spec?.tags ?? {});
}

function noPool(pools: readonly Pool[], tags: Tags): Link {
  const offers = pools.map((pool) => ({ name: pool.metadata.name, tags: tagsOf(pool) }));
  const nearest = closestOffer(offers, tags);
  const hint = nearest ? ` The closest match, "${nearest.name}", lacks ${tagText(nearest.missing)}.` : "";
  const message = `No CoderProvisioner in this namespace offers these tags.${hint} Add one, or correct the template's tags.`;
  return { depth: 1, object: "provisioner", state: "no match", message, severity: "wrong" };
}

/**
 * A healthy pool is at its limit, is starting daemons, or is about to take the build: its own conditions say
 * which.
 */
function explainPool(pool: Pool, snapshot: Snapshot): Link[] {
  const wrong = explainObject({ kind: CoderProvisioner, object: pool }, snapshot, 1);
  if (wrong.length > 0) return wrong;
  const object = typedName(CoderProvisioner, pool.metadata);
  const message =
    findCondition(pool.status?.conditions, "ScalingActive")?.message ??
    "It has a fixed number of daemons, and all may be busy; raise spec.replicas or wait.";
  return [{ depth: 1, object, state: "could take it", message, severity: "waiting" }];
}

function tagText(tags: Tags): string {
  const all = Object.entries(distinctiveTags(tags));
  return all.map(([key, value]) => `${key}=${value}`).join(", ") || "(none)";
}
