import type { Deployment, ReplicaSet, RunContext, Stored } from "kube-controller-runtime";
import { stored, stubClient } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import { observeRefusal } from "./refusal.ts";

const REVISION = "deployment.kubernetes.io/revision";
const failing = (message: string) => ({
  status: { conditions: [{ type: "ReplicaFailure", status: "True", message }], replicas: 0 },
});
const deployment = stored<Deployment>(
  { ...failing("of an old one"), spec: { selector: { matchLabels: { a: "b" } }, template: {} } },
  { uid: "d", annotations: { [REVISION]: "2" } },
);
const set = (revision: string, more: object): Stored<ReplicaSet> =>
  stored<ReplicaSet>(more, {
    annotations: { [REVISION]: revision },
    ownerReferences: [{ apiVersion: "apps/v1", kind: "Deployment", name: "d", uid: "d" }],
  });

function context(items: readonly Stored<ReplicaSet>[], asked: string[] = []): RunContext {
  const list = async (_: unknown, { labelSelector }: { labelSelector: string }) => {
    asked.push(labelSelector);
    return { items };
  };
  return { client: stubClient({ list }), log: { warn: () => {} } } as unknown as RunContext;
}

test("what an older ReplicaSet says is not said of the newest spec", async () => {
  const sets = [set("1", failing("of an old one")), set("2", {})];
  expect(await observeRefusal(deployment, context(sets))).toBeUndefined();
});

test("the newest ReplicaSet speaks for itself", async () => {
  const sets = [set("1", failing("of an old one")), set("2", failing("of the newest"))];
  expect(await observeRefusal(deployment, context(sets))).toBe("of the newest");
});

test("nothing is read while the Deployment reports no failure", async () => {
  const asked: string[] = [];
  await observeRefusal(stored<Deployment>({}), context([], asked));
  await observeRefusal(undefined, context([], asked));
  expect(asked).toEqual([]);
});
