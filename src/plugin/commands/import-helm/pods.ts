import { isDeepStrictEqual } from "node:util";
import { commonLabelNames } from "../../../operator/names.ts";
import { defined, unlessEmpty } from "../../../operator/normalize.ts";
import { chartAffinity, chartResources, chartSecurityContext } from "./chart-defaults.ts";
import { isObject, type Json, type JsonObject, propertyOf } from "./json.ts";
import { type Release, ReleaseError } from "./release.ts";
import type { ValuesReader } from "./values.ts";

/** The variables of a container, as the values define them. */
export type Variables = readonly Json[];

const IMAGE_ENTRYPOINT = ["/opt/coder"];

/** Fields that both charts have values for and all kinds support. */
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

/** The chart's own defaults as presets, and other settings in full. */
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
  "It is copied, but it selects pods by labels of the chart. The operator's pods have app.kubernetes.io/name coder-control-plane, coder-provisioner or coder-workspace-proxy, and the object's name as app.kubernetes.io/instance.";

function selectsByLabels(value: Json): boolean {
  return commonLabelNames.some((label) => (JSON.stringify(value) ?? "").includes(`"${label}"`));
}

/** The tag defaults to the chart's appVersion. */
function imageOf(reader: ValuesReader, { appVersion }: Release): string | undefined {
  const repository = reader.text("coder.image.repo");
  const tag = reader.text("coder.image.tag") ?? (appVersion && `v${appVersion}`);
  if (tag === undefined) {
    throw new ReleaseError(
      "the values do not set coder.image.tag, so the image has the version of the chart: specify it, as in --chart coder@2.26.0",
    );
  }
  return repository && `${repository}:${tag}`;
}

/** Omitted if it equals the default of Kubernetes. */
function pullPolicyOf(reader: ValuesReader): string | undefined {
  const policy = reader.text("coder.image.pullPolicy");
  const isLatest = reader.text("coder.image.tag") === "latest";
  return policy === "IfNotPresent" && !isLatest ? undefined : policy;
}

function commandOf(reader: ValuesReader): readonly Json[] | undefined {
  const command = reader.list("coder.command");
  return isDeepStrictEqual(command, IMAGE_ENTRYPOINT) ? undefined : command;
}

/** Labels or annotations without those that admission rejects. */
function added(reader: ValuesReader, path: string): JsonObject | undefined {
  const entries = Object.entries(reader.map(path) ?? {});
  const isRefused = ([name]: [string, Json]) =>
    name.startsWith("coder.com/") || (/[lL]abels$/.test(path) && commonLabelNames.includes(name));
  for (const [name] of entries.filter(isRefused)) {
    reader.remark(`${path}.${name}`, "Omitted: the operator sets it.");
  }
  // Helm prints numbers and booleans as they are; labels and annotations are strings.
  const kept = entries.filter((entry) => !isRefused(entry)).map(([name, value]) => [name, `${value}`]);
  return unlessNothing(Object.fromEntries(kept));
}

/**
 * Arguments after the subcommand, which the operator sets. Another subcommand is not supported: a remark says
 * so.
 */
export function extraArgs(reader: ValuesReader, subcommand: readonly string[]): readonly Json[] | undefined {
  const args = reader.list("coder.commandArgs");
  if (args === undefined) return undefined;
  if (!isDeepStrictEqual(args.slice(0, subcommand.length), subcommand)) {
    reader.remark(
      "coder.commandArgs",
      `Omitted: the operator always runs "coder ${subcommand.join(" ")}", followed by extraArgs.`,
    );
    return undefined;
  }
  return args.length > subcommand.length ? args.slice(subcommand.length) : undefined;
}

/** The user's variables, and those of the chart that take effect only if another variable enables them. */
export function variables(reader: ValuesReader, chartsOwn: Readonly<Record<string, string>>): Variables {
  const given = reader.list("coder.env") ?? [];
  const isOn = (name: string) => named(given, name) !== undefined || reader.isGiven("coder.envFrom");
  const addresses = Object.entries(chartsOwn).filter(
    ([name]) => isOn(name.replace("_ADDRESS", "_ENABLE")) && named(given, name) === undefined,
  );
  if (propertyOf(named(given, "CODER_PROMETHEUS_ENABLE"), "value") === "true") {
    reader.remark(
      "coder.env",
      "The chart names the metrics port prometheus-http; here the port has no name. Use portNumber: 2112 in a PodMonitor.",
    );
  }
  remarkPlainSecrets(reader, given);
  return [...addresses.map(([name, value]) => ({ name, value })), ...given];
}

/** Names of variables that usually contain a secret. */
const SECRET_NAME = /(PASSWORD|SECRET|TOKEN|_PSK|_KEY|PG_CONNECTION_URL)$/;

function remarkPlainSecrets(reader: ValuesReader, given: Variables): void {
  const texts = given.filter(isObject).filter(({ value }) => typeof value === "string" && value !== "");
  for (const { name } of texts.filter((variable) => SECRET_NAME.test(`${variable.name}`))) {
    reader.remark(
      `coder.env.${name}`,
      "Its value is in plain text: move it to a Secret and refer to the Secret.",
    );
  }
}

export function named(given: Variables, name: string): JsonObject | undefined {
  return given.filter(isObject).findLast((variable) => variable.name === name);
}

/** Permissions that differ from the operator's defaults. */
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
      "Omitted: spec.labels applies to all objects, including the ServiceAccount.",
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

/** Names of the namespaces: settings for a single namespace have no field. */
function workspaceNamespaces(reader: ValuesReader, path: string): readonly Json[] | undefined {
  const entries = reader.list(path) ?? [];
  if (entries.some((entry) => isObject(entry) && Object.keys(entry).some((key) => key !== "name"))) {
    reader.remark(path, "There is no field for permissions per namespace: all namespaces get those of rbac.");
  }
  return unlessEmpty(entries.map((entry) => (isObject(entry) ? propertyOf(entry, "name") : entry)));
}

/** The value, unless it equals the default. */
export function unless<T>(usual: T, value: T | undefined): T | undefined {
  return value === usual ? undefined : value;
}

export function unlessNothing<T extends object>(value: T): T | undefined {
  return Object.keys(value).length > 0 ? value : undefined;
}

export function within(name: string, value: Json): JsonObject | undefined {
  return value === undefined ? undefined : { [name]: value };
}
