import { Secret, systemClock } from "kube-controller-runtime";
import { eventually, type Fault, silentLog } from "kube-controller-runtime/testing";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { References } from "../../src/cache/references.ts";
import { contract } from "./api-under-test.ts";

const soon = { withinMs: 20_000 };
const base64 = (text: string) => Buffer.from(text).toString("base64");

contract("references", (api) => {
  let namespace: string;
  let wire: string;
  beforeEach(async () => {
    namespace = await api().newNamespace();
    wire = "";
    api().transport.fault = listen;
    api().transport.requests.length = 0;
  });

  /** Records everything that the server sends. */
  const listen: Fault = async (_request, pass) => {
    const { body, ...response } = await pass();
    const heard = (async function* () {
      for await (const chunk of body) {
        wire += Buffer.from(chunk).toString("latin1");
        yield chunk;
      }
    })();
    return { ...response, body: heard };
  };

  function start() {
    const { client } = api();
    const notified: string[] = [];
    const timing = { retryBaseMs: 20, retryCapMs: 200 };
    const environment = {
      client,
      clock: systemClock,
      random: Math.random,
      log: silentLog,
      namespaces: [],
      timing,
    };
    const shared = new References(Secret, environment);
    const references = shared.heldBy((holder) => notified.push(holder));
    onTestFinished(() => shared.stop());
    const read = async (name: string) => (await references.get(ref(name)))?.data?.value;
    return { references, notified, read };
  }
  const ref = (name: string) => ({ namespace, name });
  const write = (name: string, value: string) =>
    api().other.apply(Secret, { metadata: ref(name), data: { value: base64(value) } });
  const fetches = () =>
    api().transport.requests.filter(({ path }) => path.endsWith("/secrets/wanted")).length;

  test("fetch what is referred to, once; the content of anything else never crosses the wire", async () => {
    await write("wanted", "wanted content");
    for (let number = 0; number < 20; number++)
      await write(`unrelated-${number}`, `unrelated content ${number}`);
    const { references, notified, read } = start();
    references.set("holder", [ref("wanted")]);
    await eventually(() => expect(wire).toMatch(/initial-events-end|PartialObjectMetadataList/), soon);
    await eventually(() => expect(api().transport.openWatches).toBe(1), soon);
    expect([await read("wanted"), await read("wanted")]).toEqual([
      base64("wanted content"),
      base64("wanted content"),
    ]);
    await write("unrelated-1", "unrelated change");
    await write("wanted", "new content");
    await eventually(() => expect(notified).toEqual(["holder"]), soon);
    expect(await read("wanted")).toBe(base64("new content"));
    expect(fetches()).toBe(2);
    expect(wire).toContain(base64("wanted content"));
    expect(wire).not.toContain(base64("unrelated content ").slice(0, 20));
  });

  test("notify every holder when a missing object appears and when it is deleted", async () => {
    const { references, notified, read } = start();
    references.set("x", [ref("late")]);
    references.set("y", [ref("other"), ref("late")]);
    expect(await read("late")).toBeUndefined();
    await write("late", "here");
    await eventually(() => expect(notified.sort()).toEqual(["x", "y"]), soon);
    expect(await read("late")).toBe(base64("here"));
    await api().other.delete(Secret, ref("late"));
    await eventually(() => expect(notified.sort()).toEqual(["x", "x", "y", "y"]), soon);
    expect(await read("late")).toBeUndefined();
  });

  test("stop watching an object with the last reference to it", async () => {
    const { references, notified } = start();
    references.set("x", [ref("a"), ref("b")]);
    references.set("y", [ref("b")]);
    await eventually(() => expect(api().transport.openWatches).toBe(2), soon);
    references.set("x", []);
    await eventually(() => expect(api().transport.openWatches).toBe(1), soon);
    references.set("y", []);
    await eventually(() => expect(api().transport.openWatches).toBe(0), soon);
    await write("a", "1");
    expect(notified).toEqual([]);
  });

  test("watch the namespace once for more references than there may be watches", async () => {
    await write("s0", "1");
    const { references, notified, read } = start();
    references.set(
      "x",
      Array.from({ length: 40 }, (_, number) => ref(`s${number}`)),
    );
    await eventually(() => expect(api().transport.openWatches).toBe(1), soon);
    expect(await read("s0")).toBe(base64("1"));
    expect(await read("s39")).toBeUndefined();
    await write("s0", "2");
    await write("s39", "1");
    await eventually(async () => expect(await read("s0")).toBe(base64("2")), soon);
    await eventually(async () => expect(await read("s39")).toBe(base64("1")), soon);
    expect(new Set(notified)).toEqual(new Set(["x"]));
  });

  test("never keep an outdated response, for any interleaving of writes and reads", async () => {
    const { references, notified, read } = start();
    references.set("x", [ref("busy")]);
    for (let round = 0; round < 20; round++) {
      const reading = read("busy");
      await (round % 3 === 2 ? api().other.delete(Secret, ref("busy")) : write("busy", String(round)));
      await reading;
    }
    await write("busy", "last");
    await eventually(async () => expect(await read("busy")).toBe(base64("last")), soon);
    expect(notified.length).toBeGreaterThan(0);
  });
});
