import { find, type Kind, Role, RoleBinding } from "kube-controller-runtime";
import { describe, expect, test } from "vitest";
import type { OperatorOptions, RunningOperator } from "../../../lab/operator.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { CrashingOperator, type CrashOptions, playAll } from "../../support/crashing-operator.ts";
import { essence, essenceOfChildren } from "../../support/dump.ts";
import { type ControlPlaneStage, openControlPlaneStage } from "./stage.ts";

const NAME = "coder";
const WORKSPACES = "workspaces";
/** An operator that missed an answer tries again after a while. */
const TIME_LIMIT = { withinMs: 5 * 60_000 };

/** The operation during which the operator fails. */
interface Deed {
  readonly what: string;
  /** Whether there is a control plane before. */
  readonly existing: boolean;
  readonly begin: (stage: ControlPlaneStage) => Promise<unknown>;
  /** An effect that it has at least. */
  readonly effect: RegExp;
}

const create = (stage: ControlPlaneStage) =>
  stage.create(NAME, {
    image: "ghcr.io/coder/coder:tests",
    expose: { ingress: { host: "coder.example.com" } },
    serviceAccount: { annotations: { "example.com/role": "coder" } },
    rbac: { workspaceNamespaces: [WORKSPACES] },
  });

const deeds: readonly Deed[] = [
  { what: "creation", existing: false, begin: create, effect: /^PATCH .*\/workspaces\/rolebindings\// },
  {
    what: "a change",
    existing: true,
    begin: (stage) =>
      stage.change(NAME, {
        expose: null,
        replicas: 2,
        service: { port: 8080 },
        serviceAccount: { name: "robot", annotations: null },
        tls: { secretNames: ["web"] },
      }),
    effect: /^DELETE .*\/ingresses\/coder$/,
  },
  {
    what: "deletion",
    existing: true,
    begin: (stage) => stage.delete(CoderControlPlane, NAME),
    effect: /^DELETE .*\/workspaces\/rolebindings\//,
  },
];

function start(stage: ControlPlaneStage, options: OperatorOptions = {}): Promise<RunningOperator> {
  return stage.startOperator({ namespaces: [stage.namespace, WORKSPACES], ...options });
}

/** All that there is of a control plane, itself included. */
async function stateOf({ person, namespace }: ControlPlaneStage): Promise<unknown> {
  const ref = { namespace, name: NAME };
  const object = await find(person, CoderControlPlane, ref);
  const foreign = await Promise.all(
    [Role, RoleBinding].map((kind: Kind) => person.list(kind, { namespace: WORKSPACES })),
  );
  return {
    object: object && essence(object, ref),
    // Without a garbage collector children outlive their owner.
    children: object ? await essenceOfChildren(person, ref) : [],
    foreign: foreign.flatMap(({ items }) => items.map((item) => essence(item, ref))),
  };
}

/** Fails until the operator has reported on the present spec, or let the object go. */
async function assertSettled({ person, namespace }: ControlPlaneStage): Promise<void> {
  const object = await find(person, CoderControlPlane, { namespace, name: NAME });
  if (!object) return;
  expect(object.metadata.deletionTimestamp).toBeUndefined();
  expect(object.status?.observedGeneration).toBe(object.metadata.generation);
}

async function openPlay({ existing }: Deed): Promise<ControlPlaneStage> {
  const stage = await openControlPlaneStage("crash", { operator: false });
  if (!existing) return stage;
  await using _healthy = await start(stage);
  await create(stage);
  await stage.eventually(() => assertSettled(stage));
  return stage;
}

/** What the deed leads to when nothing fails. */
async function undisturbed(deed: Deed): Promise<unknown> {
  await using stage = await openPlay(deed);
  await start(stage);
  await deed.begin(stage);
  await stage.eventually(() => assertSettled(stage));
  return stateOf(stage);
}

/** Does the deed with an operator that fails at one of its effects, and then another; returns at which it failed. */
async function play(deed: Deed, failure: CrashOptions, expected: unknown): Promise<string | undefined> {
  await using stage = await openPlay(deed);
  const assertDone = async () => expect(await stateOf(stage)).toEqual(expected);
  const operatorUnderTest = new CrashingOperator(failure);
  const operator = await start(stage, operatorUnderTest.throughWorld(stage.world));
  await stage.untilIdle();
  operatorUnderTest.arm();
  await deed.begin(stage);
  await stage.eventually(async () => {
    if (!operatorUnderTest.isDead) await assertDone();
  }, TIME_LIMIT);
  await operator.stop();
  await start(stage);
  await stage.eventually(assertDone, TIME_LIMIT);
  return operatorUnderTest.failedAt;
}

async function playEach(deed: Deed, failure: "diesAfter" | "missesAnswer"): Promise<void> {
  const expected = await undisturbed(deed);
  const failed = await playAll(failure, (options) => play(deed, options, expected));
  expect(failed).toContainEqual(expect.stringMatching(deed.effect));
}

describe("a control plane ends up as it would have without the failure when the operator", () => {
  test.for(deeds)("is killed after any effect: $what", (deed) => playEach(deed, "diesAfter"));

  test.for(deeds)("misses the answer to any effect: $what", (deed) => playEach(deed, "missesAnswer"));
});
