import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { definitionsOf, readSnapshot } from "./kubernetes.ts";
import { type Schema, structural } from "./structural.ts";

/*
 * The fields of existing manifests, with the types, defaults and constraints of their validation. The
 * generated CRDs are compared with every line, which defines drop-in compatibility.
 */

interface FieldLine {
  readonly path: string;
  readonly type: string;
  readonly required: boolean;
  readonly default: unknown;
  readonly constraint: string;
}

interface KindLines {
  readonly kind: string;
  readonly plural: string;
  readonly columns: readonly string[];
  readonly fields: readonly FieldLine[];
}

const repository = new URL("../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, repository), "utf8");

/** The list was printed by Python. */
function pythonLiteral(text: string): unknown {
  const json = text
    .replace(/\bTrue\b/g, "true")
    .replace(/\bFalse\b/g, "false")
    .replaceAll("'", '"');
  return /^[\d{[tf"]/.test(json) ? JSON.parse(json) : json;
}

function fieldLine(line: string): FieldLine {
  const [path = "", type = "", required = "", fallback = "", constraint = ""] = line.split("\t");
  return {
    path,
    type,
    required: required === "required",
    default: fallback === "" ? undefined : pythonLiteral(fallback.replace(/^default=/, "")),
    constraint,
  };
}

function kindLines(section: string): KindLines {
  const [heading = "", columns = "", ...rest] = section.split("\n");
  const [, kind = "", plural = ""] =
    /^(\w+) \(coder\.com\/v1alpha1, plural (\w+), Namespaced\)$/.exec(heading) ?? [];
  return {
    kind,
    plural,
    columns: pythonLiteral(columns.replace("printer columns: ", "")) as string[],
    fields: rest.filter((line) => line.trim() !== "").map(fieldLine),
  };
}

const kinds = read("test/fixtures/api-fields.tsv").split("\n## ").slice(1).map(kindLines);

function crdOf(plural: string) {
  return parse(read(`config/crd/coder.com_${plural}.yaml`));
}

function openAPIOf(plural: string): Schema {
  return crdOf(plural).spec.versions[0].schema.openAPIV3Schema;
}

interface Place {
  readonly parent: Schema;
  readonly name: string;
  readonly schema: Schema | undefined;
}

/** Finds the schema of `spec.rbac.extraRules[].verbs`, and the object that contains it. */
function placeOf(root: Schema, path: string): Place {
  const steps = path.split(".");
  const name = steps.pop() ?? "";
  const parent = steps.reduce((schema: Schema, step) => {
    const inner = schema.properties?.[step.replace("[]", "")];
    return (step.endsWith("[]") ? inner?.items : inner) ?? {};
  }, root);
  return { parent, name, schema: parent.properties?.[name] };
}

const definitions = definitionsOf(readSnapshot());
const packages: Readonly<Record<string, string>> = {
  core: "io.k8s.api.core.v1",
  meta: "io.k8s.apimachinery.pkg.apis.meta.v1",
};

function expectType(schema: Schema | undefined, type: string): void {
  const [, group = "", name = "", isList] = /^(core|meta)\/v1 (\w+)(\[\])?$/.exec(type) ?? [];
  const [, item] = /^array<(\w+)>$/.exec(type) ?? [];
  if (name) {
    const { description, ...full } = structural({ $ref: `${packages[group]}.${name}` }, definitions);
    expect(isList ? schema?.items : schema).toMatchObject(full);
    expect(schema?.type).toBe(isList ? "array" : "object");
  } else if (item) {
    expect(schema).toMatchObject({ type: "array", items: { type: item } });
  } else if (type === "map<string,string>") {
    expect(schema).toMatchObject({ type: "object", additionalProperties: { type: "string" } });
  } else {
    expect(schema?.type).toBe(type);
  }
}

function expectConstraint(schema: Schema | undefined, constraint: string): void {
  if (constraint === "") return;
  if (constraint.startsWith("cel: ")) {
    expect(schema?.["x-kubernetes-validations"]).toContainEqual(
      expect.objectContaining({ rule: constraint.slice("cel: ".length) }),
    );
    return;
  }
  const [keyword = "", value = ""] = constraint.split("=");
  expect(String(schema?.[keyword])).toBe(value);
}

const constraintKeywords = [
  "enum",
  "maxItems",
  "maxLength",
  "maximum",
  "minItems",
  "minLength",
  "minimum",
  "pattern",
];

/** Checks of a field beyond those of the list: `spec.replicas minimum`. */
function extraConstraints(root: Schema, { path, constraint }: FieldLine): string[] {
  const { schema } = placeOf(root, path);
  const own = [...constraintKeywords, "x-kubernetes-validations"]
    .filter((keyword) => schema?.[keyword] !== undefined)
    .filter((keyword) => !constraint.startsWith(`${keyword}=`) && !constraint.startsWith("cel: "))
    .map((keyword) => `${path} ${keyword}`);
  const item = schema?.items;
  const ofStrings = item?.type === "string" && !path.includes("extraRules");
  const items = ofStrings ? constraintKeywords.filter((keyword) => item[keyword] !== undefined) : [];
  return [...own, ...items.map((keyword) => `${path}[] ${keyword}`)];
}

/** Previously the operator set this default; the scale subresource needs it in the object. */
const laterDefaults: Readonly<Record<string, unknown>> = { "spec.replicas": 1 };

describe.each(kinds)("$kind", ({ kind, plural, columns, fields }) => {
  const crd = crdOf(plural);
  const root = openAPIOf(plural);

  it.each(fields)("has $path as manifests use it", (field) => {
    const { parent, name, schema } = placeOf(root, field.path);
    expectType(schema, field.type);
    expect(parent.required?.includes(name) ?? false).toBe(field.required);
    expect(schema?.default).toEqual(field.default ?? laterDefaults[field.path]);
    expectConstraint(schema, field.constraint);
  });

  it("keeps its names and scope", () => {
    expect(crd.spec).toMatchObject({ group: "coder.com", scope: "Namespaced", names: { kind, plural } });
  });

  it("keeps the columns it had", () => {
    const present = crd.spec.versions[0].additionalPrinterColumns.map(
      (column: { name: string; jsonPath: string }) => `${column.name} ${column.jsonPath}`,
    );
    expect(present).toEqual(expect.arrayContaining([...columns]));
  });

  it("is stricter than before only where what is refused could never have worked", () => {
    const stricter = fields.flatMap((field) => extraConstraints(root, field));
    expect(stricter).toMatchSnapshot();
  });
});

it("covers every line of the list", () => {
  const lines = read("test/fixtures/api-fields.tsv")
    .split("\n")
    .filter((line) => /^(spec|status)/.test(line));
  expect(kinds.flatMap(({ fields }) => fields)).toHaveLength(lines.length);
});

/** Fields of this project, which are only in this list. */
const ours: Readonly<Record<string, readonly string[]>> = {
  codercontrolplanes: [
    "spec.operatorAccess.tokenSecretRef.name",
    "spec.operatorAccess.tokenSecretRef.key",
    "status.version",
  ],
  coderprovisioners: [
    "spec.affinity.nodeAffinity",
    "spec.bootstrap.credentialsSecretRef.name",
    "spec.certs.secrets[].name",
    "spec.envFrom[].secretRef",
    "spec.livenessProbe.enabled",
    "spec.nodeSelector",
    "spec.podSecurityContext.fsGroup",
    "spec.readinessProbe.enabled",
    "spec.securityContext.capabilities",
    "spec.tolerations[].key",
    "spec.topologySpreadConstraints[].maxSkew",
    "spec.volumeMounts[].mountPath",
    "spec.volumes[].configMap",
    "status.pendingKey.name",
    "status.retiredKeys[].name",
  ],
  coderworkspaceproxies: [
    "spec.affinity.nodeAffinity",
    "spec.certs.secrets[].name",
    "spec.controlPlaneRef.name",
    "spec.envFrom[].secretRef",
    "spec.expose.gateway.parentRefs[].name",
    "spec.expose.ingress.host",
    "spec.livenessProbe.enabled",
    "spec.nodeSelector",
    "spec.podSecurityContext.fsGroup",
    "spec.readinessProbe.enabled",
    "spec.registration.displayName",
    "spec.resources.limits",
    "spec.securityContext.capabilities",
    "spec.tls.secretNames",
    "spec.tolerations[].key",
    "spec.topologySpreadConstraints[].maxSkew",
    "spec.volumeMounts[].mountPath",
    "spec.volumes[].configMap",
    "status.health",
    "status.proxyID",
  ],
};

describe.each(Object.entries(ours))("%s", (plural, paths) => {
  it.each(paths)("has %s", (path) => {
    expect(placeOf(openAPIOf(plural), path).schema?.description).toBeTruthy();
  });
});
