import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../testing/clock.ts";
import { FakeApi } from "../../testing/fake-api/fake-api.ts";
import { ConfigMap } from "../kinds.ts";
import type { Stored } from "../object.ts";
import { awaitChange, requeue } from "../queue/action.ts";
import { finalizer } from "./finalizer.ts";

const NAME = "example.com/cleanup";
const ref = { namespace: "ns", name: "x" };

interface RunOptions {
  readonly wanted?: boolean;
  readonly cleanup?: () => Promise<void>;
  readonly reportFailure?: (object: unknown, error: unknown) => Promise<void>;
}

async function setUp(finalizers: string[] = []) {
  const client = new FakeApi(new VirtualClock()).client();
  const object = await client.create(ConfigMap, { metadata: { ...ref, finalizers } });
  const calls: string[] = [];
  const requests: string[] = [];
  const counted = new Proxy(client, {
    get: (target, verb: keyof typeof client) => {
      const method = target[verb].bind(target) as (...args: unknown[]) => unknown;
      return (...args: unknown[]) => {
        requests.push(verb);
        return method(...args);
      };
    },
  });
  const stored = () => client.get(ConfigMap, ref).catch(() => undefined);
  const storedFinalizers = async () => (await stored())?.metadata.finalizers;
  const run = (
    seen: Stored<ConfigMap>,
    { wanted = true, cleanup = async () => {}, reportFailure }: RunOptions = {},
  ) =>
    finalizer(counted, NAME, {
      kind: ConfigMap,
      object: seen,
      wanted,
      apply: async (given) => {
        const names = (await storedFinalizers())?.join() || "none";
        calls.push(`apply under ${names} at version ${given.metadata.resourceVersion}`);
        return requeue(1);
      },
      cleanup: async () => {
        calls.push("cleanup");
        await cleanup();
      },
      ...(reportFailure ? { reportFailure } : {}),
    });
  return { client, object, calls, requests, stored, storedFinalizers, run };
}

describe("a living object", () => {
  it("has the finalizer before it is applied, and is applied as stored", async () => {
    const { object, calls, run, stored } = await setUp();
    expect(await run(object)).toEqual(requeue(1));
    const version = (await stored())?.metadata.resourceVersion;
    expect(calls).toEqual([`apply under ${NAME} at version ${version}`]);
  });

  it("that has the finalizer is applied without a request", async () => {
    const { object, requests, calls, run } = await setUp([NAME]);
    await run(object);
    expect(requests).toEqual([]);
    expect(calls).toHaveLength(1);
  });

  it("that needs no finalizer and has none is applied without a request", async () => {
    const { object, requests, calls, run } = await setUp(["other.com/x"]);
    await run(object, { wanted: false });
    expect(requests).toEqual([]);
    expect(calls).toHaveLength(1);
  });

  it("that no longer needs the finalizer is cleaned up, loses it and is applied", async () => {
    const { object, calls, run, storedFinalizers } = await setUp(["other.com/x", NAME]);
    await run(object, { wanted: false });
    expect(calls).toEqual(["cleanup", expect.stringContaining("apply under other.com/x at")]);
    expect(await storedFinalizers()).toEqual(["other.com/x"]);
  });

  it("whose early cleanup fails keeps the finalizer, is applied anyway, and is retried", async () => {
    const { object, calls, run, storedFinalizers } = await setUp([NAME]);
    const cleanup = () => Promise.reject(new Error("namespace locked"));
    await expect(run(object, { wanted: false, cleanup })).rejects.toThrow("namespace locked");
    expect(calls).toEqual(["cleanup", expect.stringContaining(`apply under ${NAME}`)]);
    expect(await storedFinalizers()).toEqual([NAME]);
  });

  it("keeps finalizers that others added since it was seen", async () => {
    const { client, object, run, storedFinalizers } = await setUp();
    await client.mergePatch(ConfigMap, ref, { metadata: { finalizers: ["other.com/x"] } });
    await run(object);
    expect(await storedFinalizers()).toEqual(["other.com/x", NAME]);
  });

  it("does not get the finalizer twice when it was seen before it had it", async () => {
    const { client, object, calls, run, storedFinalizers } = await setUp();
    await client.mergePatch(ConfigMap, ref, { metadata: { finalizers: [NAME] } });
    await run(object);
    expect(await storedFinalizers()).toEqual([NAME]);
    expect(calls).toHaveLength(1);
  });

  it.each([
    ["is gone", []],
    ["is being deleted", ["other.com/x"]],
  ])("is not applied when the server says that it %s", async (_, finalizers) => {
    const { client, object, calls, run } = await setUp(finalizers);
    await client.delete(ConfigMap, ref);
    expect(await run(object)).toEqual(awaitChange);
    expect(calls).toEqual([]);
  });

  it("is not confused with its successor of the same name", async () => {
    const { client, object, calls, run, storedFinalizers } = await setUp();
    await client.delete(ConfigMap, ref);
    await client.create(ConfigMap, { metadata: ref });
    expect(await run(object)).toEqual(awaitChange);
    expect(calls).toEqual([]);
    expect(await storedFinalizers()).toBeUndefined();
  });
});

describe("an object that is being deleted", () => {
  const deleting = async (finalizers: string[]) => {
    const state = await setUp(finalizers);
    await state.client.delete(ConfigMap, ref);
    return { ...state, object: (await state.stored()) as Stored<ConfigMap> };
  };

  it("is cleaned up, then released", async () => {
    const { object, calls, run, stored } = await deleting([NAME]);
    expect(await run(object)).toEqual(awaitChange);
    expect(calls).toEqual(["cleanup"]);
    expect(await stored()).toBeUndefined();
  });

  it("is cleaned up also when it no longer needs the finalizer", async () => {
    const { object, calls, run, stored } = await deleting([NAME]);
    await run(object, { wanted: false });
    expect(calls).toEqual(["cleanup"]);
    expect(await stored()).toBeUndefined();
  });

  it("remains while its cleanup fails", async () => {
    const { object, run, storedFinalizers } = await deleting([NAME]);
    const cleanup = () => Promise.reject(new Error("namespace locked"));
    await expect(run(object, { cleanup })).rejects.toThrow("namespace locked");
    expect(await storedFinalizers()).toEqual([NAME]);
  });

  it("reports why its cleanup fails, and both errors when that can't be reported", async () => {
    const { object, calls, run } = await deleting([NAME]);
    const cleanup = () => Promise.reject(new Error("namespace locked"));
    const reportFailure = async (_object: unknown, error: unknown) => {
      calls.push(`reported ${error}`);
      throw new Error("no status");
    };
    const failure = await run(object, { cleanup, reportFailure }).catch((error: AggregateError) => error);
    expect(failure).toMatchObject({
      errors: [{ message: "namespace locked" }, { message: "no status" }],
    });
    expect(calls).toEqual(["cleanup", "reported Error: namespace locked"]);
  });

  it("keeps the finalizers of others, those added during the cleanup included", async () => {
    const { client, object, run, storedFinalizers } = await deleting(["a.com/a", NAME, "b.com/b"]);
    const cleanup = async () => {
      await client.mergePatch(ConfigMap, ref, { metadata: { finalizers: [NAME, "b.com/b"] } });
    };
    await run(object, { cleanup });
    expect(await storedFinalizers()).toEqual(["b.com/b"]);
  });

  it("that vanished during its cleanup is done", async () => {
    const { client, object, run } = await deleting([NAME]);
    const cleanup = async () => {
      await client.mergePatch(ConfigMap, ref, { metadata: { finalizers: null } });
    };
    expect(await run(object, { cleanup })).toEqual(awaitChange);
  });

  it("without our finalizer is left to others", async () => {
    const { object, calls, requests, run } = await deleting(["other.com/x"]);
    expect(await run(object)).toEqual(awaitChange);
    expect([calls, requests]).toEqual([[], []]);
  });
});
