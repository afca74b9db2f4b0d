import { isEmpty, isObject, type Json, propertyOf } from "./json.ts";

/** The fields of an object by path, limited to those that affect what runs. */
export type Fields = ReadonlyMap<string, Json>;

/** The fields that identify an entry of a list, so that a different order is not a difference. */
const NAMES = ["mountPath", "name", "host"];

/** Lists with one entry whose name differs between chart and operator. */
const BY_PLACE = /(^|\.)(containers|subjects|hosts)$/;

/** Defaults that Kubernetes sets: not a difference if only one side has them. */
const DEFAULTS: readonly (readonly [path: RegExp, value?: Json])[] = [
  [/^metadata\.(namespace|uid|resourceVersion|generation|creationTimestamp|managedFields|selfLink)/],
  [/^metadata\.(finalizers|ownerReferences)/],
  [/^metadata\.annotations\.(meta\.helm\.sh|deployment\.kubernetes\.io|kubectl\.kubernetes\.io)\//],
  [/^status\b/],
  [/^secrets\b/],
  [/\.progressDeadlineSeconds$/, 600],
  [/\.revisionHistoryLimit$/, 10],
  [/\.strategy\.type$/, "RollingUpdate"],
  [/\.strategy\.rollingUpdate\.(maxSurge|maxUnavailable)$/, "25%"],
  [/\.restartPolicy$/, "Always"],
  [/\.dnsPolicy$/, "ClusterFirst"],
  [/\.schedulerName$/, "default-scheduler"],
  [/\.terminationGracePeriodSeconds$/, 30],
  [/template\.spec\.serviceAccount$/],
  [/\.terminationMessagePath$/],
  [/\.terminationMessagePolicy$/],
  [/\.imagePullPolicy$/, "IfNotPresent"],
  [/\.protocol$/, "TCP"],
  [/Probe\.periodSeconds$/, 10],
  [/Probe\.(timeoutSeconds|successThreshold)$/, 1],
  [/Probe\.failureThreshold$/, 3],
  [/Probe\.initialDelaySeconds$/, 0],
  [/\.scheme$/, "HTTP"],
  [/\.defaultMode$/, 420],
  [/\.fieldRef\.apiVersion$/, "v1"],
  [/^spec\.(clusterIPs?|ipFamilies|ipFamilyPolicy|internalTrafficPolicy|allocateLoadBalancerNodePorts)\b/],
  [/^spec\.healthCheckNodePort$/],
  [/^spec\.sessionAffinity$/, "None"],
  [/^spec\.externalTrafficPolicy$/, "Cluster"],
  [/^spec\.type$/, "ClusterIP"],
  [/^subjects\[0\]\.(apiGroup|namespace)$/],
];

/** The fields of one object without defaults of Kubernetes. */
export function fieldsOf(object: Json): Fields {
  return new Map(walk(object, "").filter(([path, value]) => !isDefault(path, value)));
}

function isDefault(path: string, value: Json): boolean {
  return DEFAULTS.some(([of, usual]) => of.test(path) && (usual === undefined || usual === value));
}

function walk(value: Json, path: string): [string, Json][] {
  if (isEmpty(value)) return [];
  if (path === "rules") return grants(value);
  if (Array.isArray(value)) return value.flatMap((entry, index) => walkEntry(entry, path, index));
  if (!isObject(value)) return [[path, value]];
  return Object.entries(value).flatMap(([name, below]) => walk(below, path ? `${path}.${name}` : name));
}

/** An argument is identified by its text, so that an added argument does not change the path of the next. */
const ARGUMENTS = /\.args$/;

/** The path of an entry contains its name, so the name is not a field of its own. */
function walkEntry(entry: Json, path: string, index: number): [string, Json][] {
  if (ARGUMENTS.test(path)) return [[`${path}[${entry}]`, "there"]];
  const field = BY_PLACE.test(path)
    ? undefined
    : NAMES.find((name) => typeof propertyOf(entry, name) === "string");
  const place = `${path}[${field === undefined ? index : propertyOf(entry, field)}]`;
  const inside = walk(entry, place).filter(([at]) => at !== `${place}.${field}`);
  return inside.length > 0 || field === undefined ? inside : [[place, "there"]];
}

/** The rules of a Role, split into single grants, so that their grouping does not matter. */
function grants(rules: Json): [string, Json][] {
  if (!Array.isArray(rules)) return [];
  const of = (rule: Json, field: string): Json[] => {
    const list = propertyOf(rule, field);
    return Array.isArray(list) ? list : [];
  };
  return rules.flatMap((rule) =>
    of(rule, "apiGroups").flatMap((group) =>
      of(rule, "resources").flatMap((resource) =>
        of(rule, "verbs").map((verb): [string, Json] => [`rules[${verb} ${resource}.${group}]`, true]),
      ),
    ),
  );
}
