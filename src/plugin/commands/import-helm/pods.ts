import { isDeepStrictEqual } from "node:util";
import { commonLabelNames } from "../../../operator/names.ts";
import { defined, unlessEmpty } from "../../../operator/normalize.ts";
import { chartAffinity, chartResources, chartSecurityContext } from "./chart-defaults.ts";
import { isObject, type Json, type JsonObject, propertyOf } from "./json.ts";
import { type Release, ReleaseError } from "./release.ts";
import type { ValuesReader } from "./values.ts";

/** The variables of a container, as the values have them. */
export type Variables = readonly Json[];

const IMAGE_ENTRYPOINT = ["/opt/coder"];

/** Fields that both charts have values for, and all our kinds have. */
export function podFields(reader: ValuesReader, release: Release): JsonObject {
  return defined({
    image: imageOf(reader, release),
    imagePullPolicy: pullPolicyOf(reader),
    imagePullSecrets: reader.list("coder.image.pullSecrets"),
    replicas: reader.number("coder.replicaCount"),
    command: commandOf(reader),
    annotations: added(reader, "coder.annotations"),
    labels: added(reader, "coder.labels"),
    podAnnotations: added(reader, "coder.podAnnotations"),
    podLabels: added(reader, "coder.podLabels"),
    hostAliases: reader.list("coder.hostAliases"),
    priorityClassName: reader.text("coder.priorityClassName"),
    initContainers: reader.list("coder.initContainers"),
    lifecycle: reader.map("coder.lifecycle"),
    podSecurityContext: reader.map("coder.podSecurityContext"),
    resources: reader.map("coder.resources") ?? chartResources,
    nodeSelector: reader.map("coder.nodeSelector"),
    tolerations: reader.list("coder.tolerations"),
    volumes: reader.list("coder.volumes"),
    volumeMounts: reader.list("coder.volumeMounts"),
    certs: within("secrets", reader.list("coder.certs.secrets")),
    ...presetFields(reader),
  });
}

/** The chart's own settings by their short names, and others in full. */
function presetFields(reader: ValuesReader): JsonObject {
  const context = reader.map("coder.securityContext");
  const affinity = reader.map("coder.affinity");
  const presets = defined({
    securityContext: isDeepStrictEqual(context, chartSecurityContext) || undefined,
    antiAffinity: isDeepStrictEqual(affinity, chartAffinity) || undefined,
  });
  const own = presets.antiAffinity ? undefined : affinity;
  const topologySpreadConstraints = reader.list("coder.topologySpreadConstraints");
  for (const [path, value] of [
    ["coder.affinity", own],
    ["coder.topologySpreadConstraints", topologySpreadConstraints],
  ] as const) {
    if (selectsByLabels(value)) reader.remark(path, SELECTS_BY_LABELS);
  }
  return defined({
    presets: unlessNothing(presets),
    securityContext: presets.securityContext ? undefined : context,
    affinity: own,
    topologySpreadConstraints,
  });
}

const SELECTS_BY_LABELS =
  "It is carried over, but selects pods by labels of the chart. The operator's pods have app.kubernetes.io/name coder-control-plane, coder-provisioner or coder-workspace-proxy, and the object's name as app.kubernetes.io/instance.";

function selectsByLabels(value: Json): boolean {
  return commonLabelNames.some((label) => (JSON.stringify(value) ?? "").includes(`"${label}"`));
}

/** The tag is that of the chart where no other is given. */
function imageOf(reader: ValuesReader, { appVersion }: Release): string | undefined {
  const repository = reader.text("coder.image.repo");
  const tag = reader.text("coder.image.tag") ?? (appVersion && `v${appVersion}`);
  if (tag === undefined) {
    throw new ReleaseError(
      "the values have no coder.image.tag, so the version that runs is that of the chart: give it, as in --chart coder@2.26.0",
    );
  }
  return repository && `${repository}:${tag}`;
}

/** Left out where Kubernetes does the same by itself. */
function pullPolicyOf(reader: ValuesReader): string | undefined {
  const policy = reader.text("coder.image.pullPolicy");
  const isLatest = reader.text("coder.image.tag") === "latest";
  return policy === "IfNotPresent" && !isLatest ? undefined : policy;
}

function commandOf(reader: ValuesReader): readonly Json[] | undefined {
  const command = reader.list("coder.command");
  return isDeepStrictEqual(command, IMAGE_ENTRYPOINT) ? undefined : command;
}

/** Labels or annotations without those that admission refuses. */
function added(reader: ValuesReader, path: string): JsonObject | undefined {
  const entries = Object.entries(reader.map(path) ?? {});
  const isRefused = ([name]: [string, Json]) =>
    name.startsWith("coder.com/") || (/[lL]abels$/.test(path) && commonLabelNames.includes(name));
  for (const [name] of entries.filter(isRefused)) {
    reader.remark(`${path}.${name}`, "The operator sets this one itself, so it is left out.");
  }
  // Helm prints numbers and flags as they are; labels and annotations are text.
  const kept = entries.filter((entry) => !isRefused(entry)).map(([name, value]) => [name, `${value}`]);
  return unlessNothing(Object.fromEntries(kept));
}

/**
 * Arguments after the subcommand that the operator gives by itself. Others than these can't be had: the remark says
 * so.
 */
export function extraArgs(reader: ValuesReader, subcommand: readonly string[]): readonly Json[] | undefined {
  const args = reader.list("coder.commandArgs");
  if (args === undefined) return undefined;
  if (!isDeepStrictEqual(args.slice(0, subcommand.length), subcommand)) {
    reader.remark(
      "coder.commandArgs",
      `Left out: the operator always runs "coder ${subcommand.join(" ")}", and extraArgs follow it.`,
    );
    return undefined;
  }
  return args.length > subcommand.length ? args.slice(subcommand.length) : undefined;
}

/** The variables that people gave, and those of the chart that only matter when something else turns them on. */
export function variables(reader: ValuesReader, chartsOwn: Readonly<Record<string, string>>): Variables {
  const given = reader.list("coder.env") ?? [];
  const isOn = (name: string) => named(given, name) !== undefined || reader.isGiven("coder.envFrom");
  const addresses = Object.entries(chartsOwn).filter(
    ([name]) => isOn(name.replace("_ADDRESS", "_ENABLE")) && named(given, name) === undefined,
  );
  if (propertyOf(named(given, "CODER_PROMETHEUS_ENABLE"), "value") === "true") {
    reader.remark(
      "coder.env",
      "The chart names the port of metrics prometheus-http; here it has no name, so a PodMonitor takes portNumber: 2112.",
    );
  }
  remarkPlainSecrets(reader, given);
  return [...addresses.map(([name, value]) => ({ name, value })), ...given];
}

/** Names of variables that usually hold something secret. */
const SECRET_NAME = /(PASSWORD|SECRET|TOKEN|_PSK|_KEY|PG_CONNECTION_URL)$/;

function remarkPlainSecrets(reader: ValuesReader, given: Variables): void {
  const texts = given.filter(isObject).filter(({ value }) => typeof value === "string" && value !== "");
  for (const { name } of texts.filter((variable) => SECRET_NAME.test(`${variable.name}`))) {
    reader.remark(`coder.env.${name}`, "Its value is in plain text: put it into a Secret and refer to that.");
  }
}

export function named(given: Variables, name: string): JsonObject | undefined {
  return given.filter(isObject).findLast((variable) => variable.name === name);
}

/** Permissions, where they differ from what the operator gives by itself. */
export function accountFields(reader: ValuesReader, ownAccount: string): JsonObject {
  const path = "coder.serviceAccount";
  const account = defined({
    name: unless(ownAccount, reader.text(`${path}.name`)),
    annotations: reader.map(`${path}.annotations`),
    disableCreate: unless(false, reader.flag(`${path}.disableCreate`)),
  });
  if (reader.isGiven(`${path}.labels`)) {
    reader.remark(
      `${path}.labels`,
      "Left out: spec.labels is for all objects, and the ServiceAccount among them.",
    );
  }
  const rbac = defined({
    workspacePerms: unless(true, reader.flag(`${path}.workspacePerms`)),
    enableDeployments: unless(true, reader.flag(`${path}.enableDeployments`)),
    extraRules: reader.list(`${path}.extraRules`),
    workspaceNamespaces: workspaceNamespaces(reader, `${path}.workspaceNamespaces`),
  });
  return defined({ serviceAccount: unlessNothing(account), rbac: unlessNothing(rbac) });
}

/** Their names: what differs from one namespace to another has no field. */
function workspaceNamespaces(reader: ValuesReader, path: string): readonly Json[] | undefined {
  const entries = reader.list(path) ?? [];
  if (entries.some((entry) => isObject(entry) && Object.keys(entry).some((key) => key !== "name"))) {
    reader.remark(
      path,
      "Permissions that differ from one namespace to another have no field: all get those of rbac.",
    );
  }
  return unlessEmpty(entries.map((entry) => (isObject(entry) ? propertyOf(entry, "name") : entry)));
}

/** A value that is not what there is without it. */
export function unless<T>(usual: T, value: T | undefined): T | undefined {
  return value === usual ? undefined : value;
}

export function unlessNothing<T extends object>(value: T): T | undefined {
  return Object.keys(value).length > 0 ? value : undefined;
}

export function within(name: string, value: Json): JsonObject | undefined {
  return value === undefined ? undefined : { [name]: value };
}
