import { globSync, readFileSync } from "node:fs";
import type { KubeObject, Stored } from "kube-controller-runtime";
import { stored } from "kube-controller-runtime/testing";
import { describe, expect, test } from "vitest";
import {
  controlPlaneChildren,
  provisionerChildren,
  workspaceProxyChildren,
} from "../../test/support/children.ts";
import {
  controlPlaneDefinition,
  provisionerDefinition,
  workspaceProxyDefinition,
} from "../api/v1alpha1/definitions.ts";

/*
 * `propagation.test.ts` has an example for each top-level field of a spec. This test generates examples for
 * nested fields from the schema. Each must change a child, or the code must read it if it has a different
 * effect.
 */

interface Schema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

type Children = (object: Stored<KubeObject>) => KubeObject[];

const kinds = [
  { definition: controlPlaneDefinition, childrenOf: controlPlaneChildren as Children, base: {} },
  {
    definition: provisionerDefinition,
    childrenOf: provisionerChildren as Children,
    base: { controlPlaneRef: { name: "coder" } },
  },
  {
    definition: workspaceProxyDefinition,
    childrenOf: workspaceProxyChildren as Children,
    base: { controlPlaneRef: { name: "coder" } },
  },
];

const sources = globSync(["src/operator/**/*.ts", "src/coder/**/*.ts"])
  .filter((path) => !path.endsWith(".test.ts"))
  .map((path) => readFileSync(path, "utf8"))
  .join("\n");

/** Paths of the fields below a field, if the operator defines them and not Kubernetes. */
function nestedIn({ items, properties = items?.properties }: Schema, path: string): string[] {
  if (!properties) return path.includes(".") ? [path] : [];
  return Object.entries(properties).flatMap(([name, field]) => nestedIn(field, `${path}.${name}`));
}

/** How to generate an example: which value it has, and whether it is the only field of its parents. */
interface Draw {
  readonly choice: number;
  readonly isAlone: boolean;
}

const draws: readonly Draw[] = [0, 1, 2].flatMap((choice) =>
  [false, true].map((isAlone) => ({ choice, isAlone })),
);

/** Generates a value from the schema. The field at path `changed` has a different value. */
function example(schema: Schema, draw: Draw, changed: string, goal = changed): unknown {
  const { type, items, properties, enum: words } = schema;
  if (properties) {
    const kept = Object.entries(properties).filter(
      ([name, field]) => !draw.isAlone || !field.properties || isOnWay(name, goal),
    );
    const inner = (path: string, name: string) => (isOnWay(name, path) ? path.slice(name.length + 1) : "-");
    return Object.fromEntries(
      kept.map(([name, field]) => [name, example(field, draw, inner(changed, name), inner(goal, name))]),
    );
  }
  if (items) return [example(items, draw, changed, goal)];
  const isChanged = changed === "";
  const choice = draw.choice + (isChanged ? 1 : 0);
  if (words) return words[choice % words.length];
  if (type === "boolean") return choice % 2 === 0;
  if (type === "integer") return (schema.minimum ?? 0) + 7 + choice;
  const text = isChanged ? "b.example.com" : "a.example.com";
  return type === "object" ? { "example.com/a": text } : text;
}

function isOnWay(name: string, path: string): boolean {
  return path === name || path.startsWith(`${name}.`);
}

/** Whether a different value of the field at this path changes a child. */
function isShown(schema: Schema, path: string, childrenOf: (value: unknown) => KubeObject[]): boolean {
  return draws.some((draw) => {
    const [before, after] = ["-", path].map((changed) =>
      JSON.stringify(childrenOf(example(schema, draw, changed, path))),
    );
    return before !== after;
  });
}

/** Fields without an effect on children, because they affect coderd, other objects or an upgrade. */
const settled = new Set([
  ...["autoscaling", "bootstrap", "controlPlaneRef", "firstAdmin", "key", "licenseSecretRef"],
  ...["operatorAccess", "organizationSync", "proxySessionTokenSecretRef", "registration", "upgrade"],
]);

/** Fields without an effect of their own, with the reason. */
const exempt: ReadonlyMap<string, string> = new Map([
  ["livenessProbe.successThreshold", "Kubernetes takes no other value than 1"],
  ["service.httpsNodePort", "only with spec.tls, as workload/exposure/service.test.ts has it"],
  ["upgrade.backup.cloudNativePG.pluginConfiguration.parameters", "handed on with pluginConfiguration"],
]);

/** Whether the code reads the field. */
function isRead(path: string): boolean {
  return new RegExp(`\\b${path.split(".").at(-1)}\\b`).test(sources);
}

describe.each(kinds)("below the spec of $definition.kind.kind", ({ definition, childrenOf, base }) => {
  const fields = Object.entries((definition.spec as Schema).properties ?? {});
  const nested = fields
    .flatMap(([field, schema]) => nestedIn(schema, field).map((path) => ({ field, schema, path })))
    .filter(({ path }) => !exempt.has(path));

  test("are fields at all", () => expect(nested.length).toBeGreaterThan(20));

  test.each(nested)("$path makes a difference", ({ field, schema, path }) => {
    const withField = (value: unknown) =>
      childrenOf(stored<KubeObject>({ spec: { ...base, [field]: value } } as KubeObject));
    const isKnown = isShown(schema, path.slice(field.length + 1), withField);
    expect(
      isKnown || (settled.has(field) && isRead(path)),
      'The field is ignored so far: see "Add a field" in CONTRIBUTING.md.',
    ).toBe(true);
  });
});
