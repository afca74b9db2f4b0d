import type { ResourceDefinition, Rule } from "../../src/api/v1alpha1/schema.ts";
import { plainSchema } from "./crd.ts";
import type { ResourcePermission } from "./rbac.ts";
import type { Schema } from "./structural.ts";

/** Where fields are described that several kinds have. */
export const COMMON_FIELDS = "common-fields.md";

/** The reference page of a kind, with a row for each field that is its own. Kubernetes types are only named. */
export function referencePage(resource: ResourceDefinition, common: readonly FieldGroup[] = []): string {
  const { kind, shortName, description, columns } = resource;
  const singular = kind.kind.toLowerCase();
  return [
    `# ${kind.kind}`,
    description,
    `\`${kind.apiVersion}\`, short name \`${shortName}\`, category \`coder\`. Types named core/v1 or meta/v1 are Kubernetes types; \`kubectl explain ${singular}.spec\` describes all their fields.`,
    `Fields have [limits](${COMMON_FIELDS}#limits).`,
    "## Spec",
    ...fieldSection(resource, "spec", common),
    "## Status",
    ...fieldSection(resource, "status", common),
    ...(resource.rules.length > 0 ? ["## Validation rules", ruleList(resource.rules)] : []),
    "## Columns of `kubectl get`",
    table(
      ["Column", "Field", "Meaning"],
      columns.map(({ name, jsonPath, description: meaning, priority }) => [
        name,
        code(jsonPath),
        priority ? `${meaning} Only with \`-o wide\`.` : meaning,
      ]),
    ),
  ].join("\n\n");
}

/** A field of the spec or the status, with the rows of all fields in it. */
export interface FieldGroup {
  readonly path: string;
  readonly rows: readonly (readonly string[])[];
  readonly kinds: readonly string[];
}

/** A smaller field of an otherwise different one is not worth a reference to another page. */
const MIN_INNER_ROWS = 5;

/** Fields that are the same in several kinds, down to the last word, at the top or one level below. */
export function commonFields(resources: readonly ResourceDefinition[]): FieldGroup[] {
  const all = (depth: number) =>
    resources.flatMap((resource) => [
      ...groupsOf(resource, "spec", depth),
      ...groupsOf(resource, "status", depth),
    ]);
  const top = sameGroups(all(1));
  const paths = new Set(top.map(({ path }) => path));
  const inner = all(2).filter(
    ({ path, rows }) => path && rows.length >= MIN_INNER_ROWS && !paths.has(path.split(".", 2).join(".")),
  );
  return [...top, ...sameGroups(inner)].toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

function sameGroups(groups: readonly FieldGroup[]): FieldGroup[] {
  const same = Map.groupBy(groups, ({ rows }) => JSON.stringify(rows));
  return [...same.values()].flatMap(([first, ...others]) =>
    first && others.length > 0 ? [{ ...first, kinds: [first, ...others].flatMap(({ kinds }) => kinds) }] : [],
  );
}

/** The page of fields that several kinds have, those of the most kinds first. */
export function commonFieldsPage(common: readonly FieldGroup[]): string {
  const allKinds = new Set(common.flatMap(({ kinds }) => kinds)).size;
  const title = ({ kinds }: FieldGroup) =>
    kinds.length === allKinds ? "All kinds" : new Intl.ListFormat("en").format(kinds);
  const byKinds = Map.groupBy(
    common.toSorted((a, b) => b.kinds.length - a.kinds.length),
    title,
  );
  return [
    "# Common fields",
    "Fields that several kinds have with the same meaning. The pages of the kinds list their other fields.",
    "## Limits",
    "Unless stated otherwise, a string has at most 32 KiB, the value of an environment variable 128 KiB, a list 256 items (variables, arguments and values of selectors 1,024; volumes 128) and a map 256 keys. Names of objects, keys in their data and host names have 1 to 253 characters. Stored objects that exceed a limit keep working until that field is changed.",
    ...[...byKinds].flatMap(([kinds, groups]) => [
      `## ${kinds}`,
      table(
        HEADER,
        groups.flatMap(({ rows }) => rows),
      ),
    ]),
  ].join("\n\n");
}

export function permissionsPage(permissions: readonly ResourcePermission[]): string {
  const same = Map.groupBy(permissions, ({ group, verbs, reasons }) =>
    JSON.stringify([group, verbs, reasons]),
  );
  return [
    "# Permissions of the operator",
    "The rights of the ClusterRole in `config/rbac/clusterrole.yaml`, with reasons.",
    table(
      ["API group", "Resource", "Verbs", "Because the operator"],
      [...same.values()].flatMap(([first, ...others]) =>
        first
          ? [
              [
                first.group || "core",
                [first, ...others].map(({ resource }) => code(resource)).join(", "),
                first.verbs.join(", "),
                first.reasons.join("; "),
              ],
            ]
          : [],
      ),
    ),
  ].join("\n\n");
}

const HEADER = ["Field", "Type", "Description"];

function fieldSection(
  resource: ResourceDefinition,
  part: "spec" | "status",
  common: readonly FieldGroup[],
): string[] {
  const { kind } = resource.kind;
  const shared = common.filter(({ path, kinds }) => kinds.includes(kind) && path.startsWith(`${part}.`));
  const sharedRows = new Set(shared.flatMap(({ rows }) => rows.map(([field]) => field)));
  const rows = fieldRows(plainSchema(resource[part]), part);
  const names = shared.map(({ path }) => code(path.slice(part.length + 1)));
  return [
    table(
      HEADER,
      rows.filter(([field]) => !sharedRows.has(field)),
    ),
    ...(names.length > 0 ? [`[Common fields](${COMMON_FIELDS}): ${names.join(", ")}.`] : []),
  ];
}

function groupsOf(resource: ResourceDefinition, part: "spec" | "status", depth: number): FieldGroup[] {
  const rows = fieldRows(plainSchema(resource[part]), part);
  const pattern = new RegExp(`^\`(\\w+(?:\\.\\w+){${depth}})`);
  const pathOf = ([field = ""]: readonly string[]) => pattern.exec(field)?.[1] ?? "";
  return [...Map.groupBy(rows, pathOf)].map(([path, of]) => ({
    path,
    rows: of,
    kinds: [resource.kind.kind],
  }));
}

function fieldRows(schema: Schema, path: string): string[][] {
  return Object.entries(schema.properties ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, field]) => {
      const required = schema.required?.includes(name) ? " (required)" : "";
      const fieldPath = `${path}.${name}`;
      const row = [
        code(fieldPath) + required,
        typeName(field),
        [field.description ?? "", ...defaultOf(field), ...constraints(field)].join(" "),
      ];
      const inner = field.items ?? field;
      return [row, ...fieldRows(inner, field.items ? `${fieldPath}[]` : fieldPath)];
    });
}

/** Unless the description names it. `{}` means the defaults of the fields below. */
function defaultOf({ default: value, description = "" }: Schema): string[] {
  const text = JSON.stringify(value);
  const isKnown = text === undefined || text === "{}" || description.includes("Defaults to");
  return isKnown ? [] : [`Defaults to ${code(text)}.`];
}

/** Of names, which the page of common fields describes. */
const MAX_NAME_LENGTH = 253;

/** `core/v1 EnvVar[]`, `string[]`, `map of string`: types in readable form. */
export function typeName(schema: Schema): string {
  if (schema.$ref) return kubernetesName(schema.$ref);
  if (schema.items) return `${typeName(schema.items)}[]`;
  if (schema.additionalProperties) return `map of ${typeName(schema.additionalProperties)}`;
  if (schema.format === "date-time") return "time";
  return schema.type ?? "";
}

function kubernetesName(reference: string): string {
  const [name = "", version = "", group = ""] = reference.split(".").reverse();
  return `${group}/${version} ${name}`;
}

function constraints(schema: Schema): string[] {
  const { enum: words, minimum, maximum, minLength, maxLength, minItems, maxItems, items } = schema;
  const ruled = (schema["x-kubernetes-validations"] ?? []) as readonly Rule[];
  const isName = minLength === 1 && maxLength === MAX_NAME_LENGTH;
  const ofItems = items && !items.$ref ? constraints(items) : [];
  return [
    ...(Array.isArray(words) ? [`One of ${words.map(code).join(", ")}.`] : []),
    ...(minimum !== undefined && maximum !== undefined ? [`From ${minimum} to ${maximum}.`] : []),
    ...(minimum !== undefined && maximum === undefined ? [`At least ${minimum}.`] : []),
    ...(minLength === undefined || isName ? [] : ["Not empty."]),
    ...(maxLength === undefined || isName ? [] : [`At most ${maxLength} characters.`]),
    ...(minItems === undefined ? [] : [`At least ${minItems}.`]),
    ...(maxItems === undefined ? [] : [`At most ${maxItems}.`]),
    ...ruled.map(({ message }) => `Rule: ${message}.`),
    ...ofItems.map((text) => `Each: ${text}`),
  ];
}

function ruleList(rules: readonly Rule[]): string {
  return rules.map(({ fieldPath, message }) => `- \`${fieldPath?.slice(1)}\`: ${message}.`).join("\n");
}

export function code(text: unknown): string {
  return `\`${text}\``;
}

export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(header), line(header.map(() => "---")), ...rows.map(line)].join("\n");
}
