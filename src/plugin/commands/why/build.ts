import { findCondition, type Stored } from "kube-controller-runtime";
import { CoderProvisioner } from "../../../api/v1alpha1/kinds.ts";
import type { Tags } from "../../../coder/provisioning.ts";
import { redact } from "../../../coder/redact.ts";
import { daemonTags, distinctiveTags, servesTags } from "../../../coder/tags.ts";
import type { PersonalCoderd } from "../../coderd.ts";
import { typedName } from "../../objects.ts";
import { explainObject } from "./object.ts";
import type { Link } from "./report.ts";
import type { Scene } from "./scene.ts";

/** A build as coderd describes it to the person, as far as it says why the build waits. */
export interface Build {
  readonly status: string;
  readonly tags: Tags;
  readonly error: string;
  readonly organizationId: string;
}

/** The build, or the last one of the workspace, that the person means by `build/<id>` or `workspace/[owner/]name`. */
export async function findBuild(coderd: PersonalCoderd, typed: string): Promise<Build> {
  const [what, ...rest] = typed.split("/");
  if (what === "build")
    return buildOf(await coderd.get(`/api/v2/workspacebuilds/${encodeURIComponent(rest[0] ?? "")}`));
  const name = encodeURIComponent(rest.at(-1) ?? "");
  const owner = encodeURIComponent(rest.length > 1 ? (rest[0] ?? "") : "me");
  const workspace = recordOf(await coderd.get(`/api/v2/users/${owner}/workspace/${name}`));
  return buildOf(workspace.latest_build, textOf(workspace.organization_id));
}

function buildOf(value: unknown, organizationId = ""): Build {
  const job = recordOf(recordOf(value).job);
  const tags = Object.entries(recordOf(job.tags)).map(([key, tag]) => [key, textOf(tag)] as const);
  return {
    status: textOf(job.status) || "unknown",
    tags: Object.fromEntries(tags),
    error: redact(textOf(job.error)),
    organizationId: textOf(job.organization_id) || organizationId,
  };
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value.slice(0, 4_096) : "";
}

type Pool = Stored<CoderProvisioner>;

/** Why it waits: the pools that could take it and what is wrong with each, or the tag that none has. */
export function explainBuild(typed: string, build: Build, scene: Scene): Link[] {
  const { status, error, tags } = build;
  const self = { depth: 0, object: typed };
  if (status === "failed")
    return [{ ...self, state: "failed", message: error || "See its log in Coder.", severity: "wrong" }];
  if (status !== "pending") return [];
  const waits: Link = {
    ...self,
    state: "pending",
    message: `It waits for a daemon with the tags ${tagText(tags)}.`,
    severity: "waiting",
  };
  const pools = scene.provisioners.filter((pool) => isOfOrganization(pool, build.organizationId));
  const fitting = pools.filter((pool) => servesTags(tagsOf(pool), tags));
  if (fitting.length === 0) return [waits, noPool(pools, tags)];
  return [waits, ...fitting.flatMap((pool) => explainPool(pool, scene))];
}

function isOfOrganization({ status }: Pool, id: string): boolean {
  const { organizationID } = status ?? {};
  return !id || !organizationID || organizationID === id;
}

function tagsOf({ spec }: Pool): Tags {
  return daemonTags(spec?.tags ?? {});
}

function noPool(pools: readonly Pool[], tags: Tags): Link {
  const lacks = (pool: Pool) => Object.entries(tags).filter(([key, value]) => tagsOf(pool)[key] !== value);
  const [nearest] = pools
    .map((pool) => ({ name: pool.metadata.name, missing: lacks(pool) }))
    .filter(({ missing }) => missing.length > 0)
    .sort((a, b) => a.missing.length - b.missing.length);
  const hint = nearest
    ? ` The nearest, "${nearest.name}", lacks ${tagText(Object.fromEntries(nearest.missing))}.`
    : "";
  const message = `No CoderProvisioner in this namespace offers these tags.${hint} Add one, or correct the template's tags.`;
  return { depth: 1, object: "provisioner", state: "none fits", message, severity: "wrong" };
}

/** A pool that is well is at its limit, starting daemons, or about to take the build: its own words say which. */
function explainPool(pool: Pool, scene: Scene): Link[] {
  const wrong = explainObject({ kind: CoderProvisioner, object: pool }, scene, 1);
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
