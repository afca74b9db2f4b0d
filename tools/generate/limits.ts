import type { Schema } from "./structural.ts";

/*
 * Every string, list and map of a CRD gets a limit here unless its schema has one: the limit of Kubernetes if
 * there is one for the field, otherwise these. They prevent an object from exhausting a client's memory, and
 * are far above manually written values.
 */
const anyText = 32 * 1024;
const environmentValue = 128 * 1024;
const timeText = 64;
const quantityText = 64;
const anyList = 256;
const anyMap = 256;

const labelValue = 63;
const nameSubdomain = 253;
const nameLabel = 63;
/** `prefix/name`, as in labels, annotations, taints and resources. */
const qualifiedName = nameSubdomain + 1 + labelValue;
const allAnnotations = 256 * 1024;

interface Limit {
  /** Matches the path of the field, such as `.spec.volumes[].name`. */
  readonly at: RegExp;
  readonly is: number;
}

const textLimits: readonly Limit[] = [
  { at: /\.priorityClassName$/, is: nameSubdomain },
  { at: /^\.spec\.extraEnv\[\]\.value$/, is: environmentValue },
  { at: /\.(nodeSelector|matchLabels|labels|podLabels)\{\}$/, is: labelValue },
  { at: /\.(annotations|podAnnotations)\{\}$/, is: allAnnotations },
  { at: /\.(volumes|volumeMounts)\[\]\.name$/, is: nameLabel },
  { at: /\.namespace$|\.workspaceNamespaces\[\]$/, is: nameLabel },
  { at: /Ref\.name$|\.imagePullSecrets\[\]\.name$|\.(secretName|claimName|className)$/, is: nameSubdomain },
  { at: /\.(configMap|secret)\.name$|\.(secretKeyRef|configMapKeyRef)\.key$/, is: nameSubdomain },
  { at: /\.matchExpressions\[\]\.key$|\.tolerations\[\]\.key$|\.topologyKey$/, is: qualifiedName },
  { at: /\.tolerations\[\]\.value$/, is: labelValue },
];

/** A map in nested lists: together they must stay within the API server's cost limit for one rule. */
const mapLimits: readonly Limit[] = [{ at: /\[\]/, is: 64 }];
const listLimits: readonly Limit[] = [
  { at: /\.initContainers$/, is: 16 },
  { at: /\.projected\.sources$/, is: 64 },
  { at: /\.volumes$/, is: 128 },
  { at: /\.(extraEnv|extraArgs|values)$/, is: 1_024 },
];

function limitAt(path: string, limits: readonly Limit[], otherwise: number): number {
  return limits.find(({ at }) => at.test(path))?.is ?? otherwise;
}

/** The schema with a limit for every string, list and map. */
export function limited(schema: Schema, path: string): Schema {
  const { properties, items, additionalProperties } = schema;
  const fields = Object.entries(properties ?? {});
  return {
    ...ownLimits(schema, path),
    ...schema,
    ...(properties && {
      properties: Object.fromEntries(
        fields.map(([name, field]) => [name, limited(field, `${path}.${name}`)]),
      ),
    }),
    ...(items && { items: limited(items, `${path}[]`) }),
    ...(additionalProperties && {
      additionalProperties: limited(additionalProperties, `${path}{}`),
      "x-kubernetes-validations": [...rulesOf(schema), keyRule],
    }),
  };
}

function ownLimits(schema: Schema, path: string): Schema {
  if (schema["x-kubernetes-int-or-string"]) return { maxLength: quantityText };
  if (schema.type === "array") return { maxItems: limitAt(path, listLimits, anyList) };
  if (schema.additionalProperties) return { maxProperties: limitAt(path, mapLimits, anyMap) };
  if (schema.type !== "string" || schema.enum) return {};
  if (schema.format === "date-time") return { maxLength: timeText };
  return { maxLength: limitAt(path, textLimits, anyText) };
}

/** A schema can limit the values of a map, but only a rule can limit its keys. */
const keyRule = {
  rule: `self.all(key, key.size() <= ${qualifiedName})`,
  message: `a key has at most ${qualifiedName} characters: shorten it`,
};

function rulesOf(schema: Schema): readonly object[] {
  return (schema["x-kubernetes-validations"] ?? []) as readonly object[];
}
