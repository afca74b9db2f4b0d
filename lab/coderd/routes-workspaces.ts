import { randomUUID } from "node:crypto";
import type { Tags } from "../../src/coder/provisioning.ts";
import type { CoderdDeployment } from "./deployment.ts";
import { json, type Reply } from "./reply.ts";
import type { Call, Route } from "./route.ts";
import type { SimulatedWorkspace } from "./workspaces.ts";

const NIL_UUID = "00000000-0000-0000-0000-000000000000";

export const workspaceRoutes: readonly Route[] = [
  { method: "GET", path: "/api/v2/workspaces", handle: listWorkspaces },
];

/**
 * A user without permission gets an empty list. The alias of the default organization is not supported here.
 */
function listWorkspaces({ deployment, query, account }: Call): Reply {
  const [, wanted] = /^organization:(\S+)$/.exec(query.get("q") ?? "") ?? [];
  const organization = deployment.organizations.find(({ id, name }) => id === wanted || name === wanted);
  if (wanted !== undefined && !organization) return unknownOrganization(wanted);
  const all = deployment.workspaces.filter(
    (each) => account.owner && (!organization || each.organization === organization.id),
  );
  const offset = Number(query.get("offset") ?? 0);
  const limit = Number(query.get("limit") ?? 0) || all.length;
  const listed = all.slice(offset, offset + limit).map((each) => workspaceView(each, deployment));
  return json(200, { workspaces: listed, count: all.length });
}

function unknownOrganization(wanted: string): Reply {
  const problem = `organization "${wanted}" either does not exist, or you are unauthorized to view it`;
  const detail = `Query param "organization" has invalid value: ${problem}`;
  const validations = [{ field: "organization", detail }];
  return json(400, { message: "Invalid workspace search query.", validations });
}

function workspaceView(workspace: SimulatedWorkspace, deployment: CoderdDeployment) {
  const { name, organization, nextStartAt } = workspace;
  const { timestamp } = deployment;
  return {
    id: randomUUID(),
    created_at: timestamp,
    updated_at: timestamp,
    owner_id: NIL_UUID,
    owner_name: "admin",
    owner_avatar_url: "",
    organization_id: organization,
    organization_name: deployment.findOrganization(organization)?.name ?? "",
    ...templateView(),
    latest_build: buildView(workspace, deployment),
    latest_app_status: null,
    outdated: false,
    name,
    ...(nextStartAt === undefined ? {} : { autostart_schedule: "CRON_TZ=UTC 0 9 * * *" }),
    last_used_at: timestamp,
    deleting_at: null,
    dormant_at: null,
    health: { healthy: true, failing_agents: [] },
    automatic_updates: "never",
    allow_renames: false,
    favorite: false,
    next_start_at: timeOrNull(nextStartAt),
    is_prebuild: false,
  };
}

function templateView() {
  return {
    template_id: NIL_UUID,
    template_name: "quick",
    template_display_name: "",
    template_icon: "",
    template_allow_user_cancel_workspace_jobs: false,
    template_active_version_id: NIL_UUID,
    template_require_active_version: false,
    template_use_classic_parameter_flow: false,
  };
}

function buildView(
  { name, transition, deadline, tags, organization }: SimulatedWorkspace,
  { timestamp }: CoderdDeployment,
) {
  return {
    id: randomUUID(),
    created_at: timestamp,
    updated_at: timestamp,
    workspace_id: NIL_UUID,
    workspace_name: name,
    workspace_owner_id: NIL_UUID,
    workspace_owner_name: "admin",
    template_version_id: NIL_UUID,
    template_version_name: "first",
    build_number: 1,
    transition,
    initiator_id: NIL_UUID,
    initiator_name: "admin",
    job: finishedJobView({ tags, organization, timestamp }),
    reason: "initiator",
    resources: [resourceView({ transition, timestamp })],
    deadline: timeOrNull(deadline),
    max_deadline: null,
    status: transition === "start" ? "running" : "stopped",
    daily_cost: 0,
    matched_provisioners: { count: 0, available: 0, most_recently_seen: null },
    template_version_preset_id: null,
    has_ai_task: false,
    has_external_agent: false,
  };
}

/** With an agent, an app and metadata, like real templates: nested lists, and brackets in text. */
function resourceView({ transition, timestamp }: { transition: string; timestamp: string }) {
  return {
    id: randomUUID(),
    created_at: timestamp,
    job_id: NIL_UUID,
    workspace_transition: transition,
    type: "terraform_data",
    name: "workspace",
    hide: false,
    icon: "",
    agents: [agentView(timestamp)],
    metadata: [{ key: "[usage]", value: "echo \"]\" | jq '.[]' \\", sensitive: false }],
    daily_cost: 0,
  };
}

function agentView(timestamp: string) {
  return {
    id: randomUUID(),
    parent_id: null,
    created_at: timestamp,
    updated_at: timestamp,
    status: "connecting",
    lifecycle_state: "created",
    name: "main",
    resource_id: NIL_UUID,
    architecture: "amd64",
    environment_variables: {},
    operating_system: "linux",
    logs_length: 0,
    logs_overflowed: false,
    version: "",
    api_version: "",
    apps: [appView()],
    connection_timeout_seconds: 120,
    troubleshooting_url: "",
    subsystems: [],
    health: { healthy: false, reason: "agent has not yet connected" },
    display_apps: ["vscode", "web_terminal"],
    log_sources: [
      { workspace_agent_id: NIL_UUID, id: NIL_UUID, created_at: timestamp, display_name: "[main]" },
    ],
    scripts: [],
    startup_script_behavior: "non-blocking",
  };
}

function appView() {
  return {
    id: randomUUID(),
    url: "http://localhost:8080/?folder=[home]",
    external: false,
    slug: "editor",
    display_name: "Editor ]",
    subdomain: false,
    sharing_level: "owner",
    healthcheck: { url: "", interval: 0, threshold: 0 },
    health: "disabled",
    hidden: false,
    open_in: "slim-window",
    statuses: [],
  };
}

function finishedJobView({
  tags,
  organization,
  timestamp,
}: {
  tags: Tags;
  organization: string;
  timestamp: string;
}) {
  return {
    id: randomUUID(),
    created_at: timestamp,
    started_at: timestamp,
    completed_at: timestamp,
    status: "succeeded",
    worker_id: NIL_UUID,
    file_id: NIL_UUID,
    tags: { ...tags, owner: "", scope: "organization" },
    queue_position: 0,
    queue_size: 0,
    organization_id: organization,
    input: { workspace_build_id: NIL_UUID },
    type: "workspace_build",
    metadata: {
      template_version_name: "",
      template_id: NIL_UUID,
      template_name: "",
      template_display_name: "",
      template_icon: "",
    },
    logs_overflowed: false,
  };
}

function timeOrNull(time: number | undefined): string | null {
  return time === undefined ? null : new Date(time).toISOString();
}
