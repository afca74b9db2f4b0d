import { readFileSync } from "node:fs";
import { eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { propagationCases, testedElsewhere } from "./propagation/cases.ts";
import { openStage, type Stage } from "./stage.ts";

/** Fields of types that Kubernetes defines: what is below them is its business. */
const kubernetesTypes: ReadonlySet<string> = new Set([
  "affinity",
  "envFrom",
  "extraEnv",
  "hostAliases",
  "imagePullSecrets",
  "initContainers",
  "lifecycle",
  "podSecurityContext",
  "resources",
  "securityContext",
  "strategy",
  "tolerations",
  "topologySpreadConstraints",
  "volumeMounts",
  "volumes",
]);

/** There are many of them, and the machine may be busy. */
const TIME_LIMIT = { withinMs: 50_000 };

let stage: Stage;
beforeAll(async () => {
  stage = await openStage(sharedCluster(), "propagation");
  // They exist and are settled first, so that every field is shown to reach a child that is already there.
  await Promise.all(propagationCases.map(({ field }) => stage.create(nameFor(field))));
  await eventually(async () => {
    const { items } = await stage.person.list(CoderControlPlane, { namespace: stage.namespace });
    expect(items.filter(({ status }) => status?.observedGeneration === 1)).toHaveLength(items.length);
  }, TIME_LIMIT);
  await Promise.all(propagationCases.map(({ field, spec }) => stage.change(nameFor(field), spec)));
});
afterAll(() => stage[Symbol.asyncDispose]());

test.each(propagationCases)("spec.$field reaches its child", async ({ field, kind, shows }) => {
  await eventually(
    async () => expect(await stage.child(kind, nameFor(field))).toMatchObject(shows),
    TIME_LIMIT,
  );
  expect((await stage.settled(nameFor(field))).status?.conditions).not.toContainEqual(
    expect.objectContaining({ reason: "InternalError" }),
  );
});

test("no field of the CRD was forgotten", () => {
  const fields = [...propagationCases.map(({ field }) => field), ...Object.keys(testedElsewhere)];
  const isCovered = (leaf: string) => fields.some((field) => leaf === field || leaf.startsWith(`${field}.`));
  expect(leavesOfTheSpec().filter((leaf) => !isCovered(leaf))).toEqual([]);
});

function nameFor(field: string): string {
  return field.replaceAll(".", "-").toLowerCase();
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

function leavesOfTheSpec(): string[] {
  const file = new URL("../../../config/crd/coder.com_codercontrolplanes.yaml", import.meta.url);
  const crd = parse(readFileSync(file, "utf8"));
  return [...leavesOf(crd.spec.versions[0].schema.openAPIV3Schema.properties.spec, "")];
}

function* leavesOf(schema: Schema, path: string): Generator<string> {
  const properties = schema.properties ?? schema.items?.properties;
  if (!properties || kubernetesTypes.has(path)) yield path;
  else
    for (const [name, below] of Object.entries(properties))
      yield* leavesOf(below, path ? `${path}.${name}` : name);
}
