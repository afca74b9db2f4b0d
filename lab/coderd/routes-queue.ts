import { randomUUID } from "node:crypto";
import { matchesTags } from "../../src/coder/tags.ts";
import type { CoderdDeployment, Daemon } from "./deployment.ts";
import type { SimulatedJob } from "./jobs.ts";
import { json, notFound, type Reply } from "./reply.ts";
import type { Call, Route } from "./route.ts";

const ORGANIZATION = "/api/v2/organizations/:organization";
const DEFAULT_LIMIT = 50;
/** A daemon is offline after this time without a heartbeat. */
const STALE_MS = 90_000;
const NIL_UUID = "00000000-0000-0000-0000-000000000000";

export const queueRoutes: readonly Route[] = [
  { method: "GET", path: `${ORGANIZATION}/provisionerdaemons`, handle: listDaemons },
  { method: "GET", path: `${ORGANIZATION}/provisionerjobs`, handle: listJobs },
  { method: "POST", path: `${ORGANIZATION}/templateversions`, handle: importTemplate },
];

/** Only owners and template admins have access; for others the organization does not exist. */
function lookedAt(call: Call, known: readonly string[], reply: (organizationId: string) => Reply): Reply {
  const organization = call.deployment.findOrganization(call.params.organization ?? "");
  if (!organization || !call.account.owner) return notFound;
  const validations = [...call.query.keys()]
    .filter((name) => !known.includes(name))
    .map((field) => ({ field, detail: `"${field}" is not a valid query param` }));
  if (validations.length > 0) return json(400, { message: "Invalid query parameters.", validations });
  return reply(organization.id);
}

/** Whether offline daemons are always listed and can't be filtered, as in 2.24. */
function listsOffline({ version }: CoderdDeployment): boolean {
  const [, minor = ""] = /^v2\.(\d+)/.exec(version) ?? [];
  return Number(minor) < 26;
}

function listDaemons(call: Call): Reply {
  const isOld = listsOffline(call.deployment);
  const known = ["limit", "ids", "tags", ...(isOld ? [] : ["offline", "status", "max_age"])];
  return lookedAt(call, known, (organizationId) => {
    const isWanted = (daemon: Daemon) =>
      isOld || call.query.get("offline") === "true" || !isStale(daemon, call.deployment);
    const listed = daemonsOf(call.deployment, organizationId).filter(isWanted).toReversed();
    return json(
      200,
      limited(listed, call).map((daemon) => daemonView(daemon, call.deployment)),
    );
  });
}

function listJobs(call: Call): Reply {
  return lookedAt(call, ["limit", "status", "ids", "tags"], (organizationId) => {
    const { deployment, query } = call;
    const statuses = query.get("status")?.split(",");
    const listed = deployment.jobs.of(organizationId).filter((job) => statuses?.includes(job.status) ?? true);
    const queue = deployment.jobs.queue;
    const view = (job: SimulatedJob) => jobView(job, { deployment, queue });
    return json(200, limited(listed.toReversed(), call).map(view));
  });
}

function importTemplate(call: Call): Reply {
  const organization = call.deployment.findOrganization(call.params.organization ?? "");
  if (!organization) return notFound;
  const job = call.deployment.jobs.submit({
    organization: organization.id,
    type: "template_version_import",
    tags: (call.body.tags ?? {}) as Record<string, string>,
  });
  return json(201, { id: randomUUID(), job: { id: job.id, status: job.status } });
}

function limited<T>(all: readonly T[], { query }: Call): readonly T[] {
  const limit = Number(query.get("limit") ?? DEFAULT_LIMIT);
  return limit === 0 ? all : all.slice(0, limit);
}

export function daemonsOf(deployment: CoderdDeployment, organizationId: string): Daemon[] {
  return deployment.daemons.filter(({ key }) => key.organization === organizationId);
}

function isStale({ silentSince }: Daemon, { now }: CoderdDeployment): boolean {
  return silentSince !== undefined && now() - silentSince > STALE_MS;
}

export function daemonView(daemon: Daemon, deployment: CoderdDeployment) {
  const { id, name, key, connectedAt, silentSince, tags } = daemon;
  const [current, previous] = [deployment.jobs.currentOf(daemon), deployment.jobs.previousOf(daemon)];
  const idle = isStale(daemon, deployment) ? "offline" : "idle";
  return {
    id,
    organization_id: key.organization,
    key_id: key.id,
    key_name: key.name,
    created_at: connectedAt,
    last_seen_at: silentSince === undefined ? deployment.timestamp : new Date(silentSince).toISOString(),
    name,
    version: daemon.version,
    api_version: deployment.traits.provisionerApi,
    provisioners: ["terraform"],
    tags,
    status: current ? "busy" : idle,
    current_job: current ? daemonJobView(current) : null,
    previous_job: previous ? daemonJobView(previous) : null,
  };
}

function daemonJobView({ id, status, templateName }: SimulatedJob) {
  return {
    id,
    status,
    template_name: templateName,
    template_icon: "",
    template_display_name: templateName,
  };
}

function jobView(
  job: SimulatedJob,
  { deployment, queue }: { deployment: CoderdDeployment; queue: readonly SimulatedJob[] },
) {
  const able = daemonsOf(deployment, job.organization).filter(({ tags }) => matchesTags(tags, job.tags));
  const isPending = job.status === "pending";
  return {
    id: job.id,
    created_at: new Date(job.createdAt).toISOString(),
    ...optionalTimes(job),
    status: job.status,
    ...(job.worker ? { worker_id: job.worker.id, worker_name: job.worker.name } : {}),
    file_id: job.fileId,
    tags: job.tags,
    queue_position: queue.indexOf(job) + 1,
    queue_size: queue.length,
    organization_id: job.organization,
    input:
      job.type === "workspace_build" ? { workspace_build_id: NIL_UUID } : { template_version_id: NIL_UUID },
    type: job.type,
    ...(isPending && able.length > 0 ? { available_workers: able.map(({ id }) => id) } : {}),
    metadata: {
      template_version_name: "first",
      template_id: NIL_UUID,
      template_name: job.templateName,
      template_display_name: job.templateName,
      template_icon: "",
      ...(job.workspaceName === "" ? {} : { workspace_id: NIL_UUID, workspace_name: job.workspaceName }),
    },
    logs_overflowed: false,
    ...deployment.traits.more.job,
  };
}

function optionalTimes({ startedAt, completedAt, canceledAt }: SimulatedJob): Record<string, string> {
  const times = { started_at: startedAt, completed_at: completedAt, canceled_at: canceledAt };
  const known = Object.entries(times).filter(([, at]) => at !== undefined);
  return Object.fromEntries(known.map(([name, at]) => [name, new Date(at ?? 0).toISOString()]));
}
