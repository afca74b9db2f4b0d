import { ApiError, type Client, type Pod, type Stored } from "kube-controller-runtime";
import { expect, test } from "vitest";
import { workloadConditions } from "../conditions.ts";
import type { Sources } from "../sources.ts";
import { type FailingPodsMemory, removeWith, replaceStuck } from "./replace-stuck.ts";
import { podSettings } from "./settings.ts";

const crashed = {
  metadata: { name: "coder-1", namespace: "coder", uid: "1", resourceVersion: "1" },
  status: {
    phase: "Running",
    containerStatuses: [
      { name: "coder", restartCount: 1, state: { terminated: { exitCode: 1, reason: "Error" } } },
    ],
  },
} as unknown as Stored<Pod>;
const condition = {
  type: workloadConditions.deployment.type,
  ...{ status: "False", reason: "Stalled", message: "", lastTransitionTime: "" },
};
const stalled = { status: { conditions: [condition] } };
const pod = podSettings(
  { envFrom: [{ secretRef: { name: "oidc" } }] },
  { readiness: { enabled: false }, liveness: { enabled: false } },
);
const sources = (resourceVersion: string) =>
  ({ secret: () => ({ metadata: { resourceVersion } }) }) as unknown as Sources;

/** Reconciles a stalled object whose Secret has this version. */
async function look(
  version: string,
  memory: FailingPodsMemory,
  removePod: (pod: Stored<Pod>) => Promise<void>,
) {
  const emitted: string[] = [];
  const own = { emit: (_type: "Normal", reason: string) => void emitted.push(reason) };
  const present = { object: stalled, pods: [crashed], sources: sources(version), now: 0, removePod };
  await replaceStuck(present, { memory, own }, pod);
  return emitted;
}

const removed = async () => {};

test("a pod that could not be removed is tried again, and is replaced once", async () => {
  const memory: FailingPodsMemory = {};
  const offline = new ApiError("no answer", { reason: "Timeout", code: 0 });
  expect(await look("1", memory, removed)).toEqual([]);
  await expect(look("2", memory, () => Promise.reject(offline))).rejects.toThrow(offline);
  expect(await look("2", memory, removed)).toEqual(["PodReplaced"]);
  expect(await look("2", memory, removed)).toEqual([]);
});

test.each([
  ["is gone", { reason: "NotFound", code: 404 }],
  ["was already deleted or replaced", { reason: "Conflict", code: 409 }],
])("a pod that %s needs no removal", async (_case, failure) => {
  const client = { delete: () => Promise.reject(new ApiError("delete", failure)) } as unknown as Client;
  await removeWith({ client })(crashed);
});
