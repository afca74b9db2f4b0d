import { beforeEach, describe, expect, test } from "vitest";
import { Parent, type ParentStatus } from "../../test/support/manager-under-test.ts";
import { VirtualClock } from "../../testing/clock.ts";
import { FakeApi } from "../../testing/fake-api/fake-api.ts";
import { answers, FaultyTransport, offline, when } from "../../testing/faulty-transport.ts";
import type { Client } from "../client/client.ts";
import { HttpClient } from "../client/http-client.ts";
import type { Condition } from "../conditions.ts";
import { ConfigMap } from "../kinds.ts";
import type { Kind, Stored } from "../object.ts";
import { mergePatchBetween, writeStatus } from "./status.ts";

const ref = { namespace: "n", name: "x" };

let transport: FaultyTransport;
let person: Client;
let client: Client;
let object: Stored<Parent>;
beforeEach(async () => {
  const clock = new VirtualClock();
  const api = new FakeApi(clock);
  api.install(Parent);
  transport = new FaultyTransport(api);
  client = new HttpClient({ transport, clock, fieldManager: "operator", userAgent: "operator" });
  person = api.client("person");
  await person.create(Parent, { metadata: ref, spec: { text: "a" } });
  object = await person.patchStatus(Parent, ref, { status: { seen: "a", details: { one: 1 } } });
});

const write = (update: (current: Partial<ParentStatus>) => Partial<ParentStatus>) =>
  writeStatus<Parent, ParentStatus>(client, { kind: Parent, object, update });
const stored = async () => (await person.get(Parent, ref)).status;
const methods = () => transport.requests.map(({ method }) => method);
const sent = () => transport.requests.flatMap(({ body }) => (body ? [JSON.parse(body)] : []));

test("a status that is already so costs no request", async () => {
  expect(await write((current) => ({ ...current, seen: "a" }))).toBe(object);
  expect(transport.requests).toEqual([]);
});

test("only changes of the run are sent, at any depth, including removals", async () => {
  const written = await write(({ details }) => ({ details: { ...details, two: 2 } }));
  expect(sent()).toMatchObject([{ status: { seen: null, details: { two: 2 } } }]);
  expect(sent()[0].status.details).toEqual({ two: 2 });
  expect(await stored()).toEqual({ details: { one: 1, two: 2 } });
  expect(written.status).toEqual(await stored());
});

test("fields without a value, at any depth, do not count as a change", async () => {
  await person.patchStatus(Parent, ref, { status: { conditions: [{ type: "Ready", status: "True" }] } });
  object = await person.get(Parent, ref);
  const conditions = [
    { type: "Ready", status: "True", observedGeneration: undefined },
  ] as unknown as Condition[];
  await write(({ details }) => ({ seen: "a", details: { ...details, two: undefined }, conditions }));
  expect(transport.requests).toEqual([]);
});

test("a deleted object is not an error", async () => {
  await person.delete(Parent, ref);
  expect(await write((current) => ({ ...current, seen: "b" }))).toBe(object);
});

test("a kind that has no status subresource is a failure, not an object that is gone", async () => {
  const kind = ConfigMap as Kind<Parent>;
  const child = (await person.create(ConfigMap, { metadata: ref })) as Stored<Parent>;
  const writing = writeStatus<Parent, ParentStatus>(client, {
    kind,
    object: child,
    update: () => ({ seen: "a" }),
  });
  await expect(writing).rejects.toMatchObject({ reason: "NotFound" });
});

describe("on a conflict", () => {
  test("the object is read again and the update is applied to it", async () => {
    await person.patchStatus(Parent, ref, { status: { details: { theirs: 1 } } });
    await write((current) => ({ ...current, details: { ...current.details, ours: 1 } }));
    expect(await stored()).toEqual({ seen: "a", details: { one: 1, theirs: 1, ours: 1 } });
    expect(methods()).toEqual(["PATCH", "GET", "PATCH"]);
  });

  test("an exact write fails and preserves the write of another client", async () => {
    await person.patchStatus(Parent, ref, { status: { seen: "theirs" } });
    const update = (current: Partial<ParentStatus>) => ({ ...current, seen: "ours" });
    const exact = { kind: Parent, object, update, exact: true };
    const writing = writeStatus<Parent, ParentStatus>(client, exact);
    await expect(writing).rejects.toMatchObject({ reason: "Conflict" });
    expect((await stored())?.seen).toBe("theirs");
  });

  test("nothing is sent again when another client wrote the same", async () => {
    await person.patchStatus(Parent, ref, { status: { seen: "b" } });
    const written = await write((current) => ({ ...current, seen: "b" }));
    expect(written.metadata.resourceVersion).toBe((await person.get(Parent, ref)).metadata.resourceVersion);
    expect(methods()).toEqual(["PATCH", "GET"]);
  });

  test("a run that a newer spec has overtaken writes nothing", async () => {
    await person.mergePatch(Parent, ref, { spec: { text: "b" } });
    expect(await write((current) => ({ ...current, seen: "old" }))).toBe(object);
    expect((await stored())?.seen).toBe("a");
    expect(methods()).toEqual(["PATCH", "GET"]);
  });

  test("another object of the same name gets nothing of this one's status", async () => {
    await person.delete(Parent, ref);
    await person.create(Parent, { metadata: ref, spec: { text: "a" } });
    await write((current) => ({ ...current, seen: "old" }));
    expect(await stored()).toBeUndefined();
  });

  test("that never ends the write fails, after a few tries", async () => {
    let writes = 0;
    transport.fault = when(
      ({ method }) => method === "PATCH",
      async (_request, pass) => {
        await person.patchStatus(Parent, ref, { status: { details: { theirs: ++writes } } });
        return pass();
      },
    );
    await expect(write((current) => ({ ...current, seen: "b" }))).rejects.toMatchObject({
      reason: "Conflict",
    });
    expect(writes).toBe(5);
  });
});

describe("an object that is gone", () => {
  test("needs no status", async () => {
    await person.delete(Parent, ref);
    expect(await write(() => ({ seen: "b" }))).toBe(object);
  });

  test("needs none either when it went after a conflict", async () => {
    transport.fault = when(({ method }) => method === "PATCH", answers(409));
    await person.delete(Parent, ref);
    expect(await write(() => ({ seen: "b" }))).toBe(object);
  });
});

test.each([
  ["the write", "PATCH"],
  ["the read after a conflict", "GET"],
])("a failure of %s is the caller's to handle", async (_, method) => {
  await person.patchStatus(Parent, ref, { status: { seen: "theirs" } });
  transport.fault = when((request) => request.method === method, offline);
  await expect(write(() => ({ seen: "b" }))).rejects.toMatchObject({ reason: "Unreachable" });
});

test.each<[string, object, object, object]>([
  ["nothing", { a: 1, b: { c: [1] } }, { a: 1, b: { c: [1] } }, {}],
  ["a field that is new", {}, { a: 1 }, { a: 1 }],
  ["a field that is gone", { a: 1 }, {}, { a: null }],
  ["a field set to undefined", { a: 1 }, { a: undefined }, { a: null }],
  ["a field that was never there and is undefined", {}, { a: undefined }, {}],
  ["a nested field", { a: { b: 1, c: 1 } }, { a: { b: 1, c: 2 } }, { a: { c: 2 } }],
  ["a list, which is replaced whole", { a: [1, 2] }, { a: [1] }, { a: [1] }],
  ["an object that becomes a value", { a: { b: 1 } }, { a: "x" }, { a: "x" }],
])("a merge patch contains %s", (_, before, after, patch) => {
  expect(mergePatchBetween(before, after)).toEqual(patch);
});
