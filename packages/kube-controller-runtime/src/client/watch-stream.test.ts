import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { settle, VirtualClock } from "../../testing/clock.ts";
import type { ApiError } from "./error.ts";
import { failWhenSilent, watchEvents } from "./watch-stream.ts";

async function* from(...chunks: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

async function read(...chunks: (string | Uint8Array)[]): Promise<unknown[]> {
  const events: unknown[] = [];
  const bytes = chunks.map((chunk) => (typeof chunk === "string" ? Buffer.from(chunk) : chunk));
  for await (const event of watchEvents(from(...bytes))) events.push(event);
  return events;
}

const event = (name: string) => ({ type: "ADDED", object: { metadata: { name } } });
const line = (name: string) => `${JSON.stringify(event(name))}\n`;

describe("a watch body", () => {
  test("with an event in forty thousand chunks assembles it once", async () => {
    // Joining and searching again for every chunk would take minutes.
    const name = "a".repeat(2_000_000);
    const bytes = Buffer.from(line(name));
    async function* chunks(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < bytes.length; at += 50) yield bytes.subarray(at, at + 50);
    }
    const events: unknown[] = [];
    for await (const each of watchEvents(chunks())) events.push(each);
    expect(events).toEqual([event(name)]);
  });

  test("returns the same events for any chunk boundaries, also within a character", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: "binary" }), { maxLength: 4 }),
        fc.array(fc.nat(), { maxLength: 8 }),
        async (names, cuts) => {
          const bytes = Buffer.from(names.map(line).join(""));
          const places = [
            0,
            ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b),
            bytes.length,
          ];
          const chunks = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
          expect(await read(...chunks)).toEqual(names.map(event));
        },
      ),
    );
  });

  test("that arrives byte by byte loses nothing", async () => {
    const bytes = Buffer.from(line("ä") + line("🌍"));
    expect(await read(...[...bytes].map((byte) => Uint8Array.of(byte)))).toEqual([event("ä"), event("🌍")]);
  });

  test("returns the events before an interruption, then fails: a partial event is not an event", async () => {
    const seen: unknown[] = [];
    const cut = (async () => {
      for await (const each of watchEvents(from(Buffer.from(line("a") + line("b").slice(0, -1)))))
        seen.push(each);
    })();
    await expect(cut).rejects.toMatchObject({
      reason: "InvalidResponse",
      message: expect.stringContaining("middle"),
    });
    expect(seen).toEqual([event("a")]);
  });

  test("may have empty lines", async () => {
    expect(await read("\n", line("a"), "\r\n\n")).toEqual([event("a")]);
  });

  test.each(["<html>", "{]", "null", "7", "[]", '{"type":"ADDED"}'])(
    "with the line %s fails as InvalidResponse",
    async (text) => {
      await expect(read(`${text}\n`)).rejects.toMatchObject({ name: "ApiError", reason: "InvalidResponse" });
    },
  );

  test("fails with what an ERROR event says", async () => {
    const status = { kind: "Status", code: 410, reason: "Expired", message: "too old resource version" };
    const failure = read(line("a"), `${JSON.stringify({ type: "ERROR", object: status })}\n`);
    await expect(failure).rejects.toMatchObject({ code: 410, reason: "Expired" });
  });
});

describe("the silence watchdog", () => {
  function guarded() {
    const clock = new VirtualClock();
    const { promise: end, reject } = Promise.withResolvers<never>();
    const arrivals: ((value: number) => void)[] = [];
    async function* events(): AsyncGenerator<number> {
      for (;;) yield await Promise.race([end, new Promise<number>((resolve) => arrivals.push(resolve))]);
    }
    const expiries: ApiError[] = [];
    const abort = (reason: ApiError) => {
      expiries.push(reason);
      reject(reason);
    };
    const stream = failWhenSilent(events(), { clock, limitMs: 1_000, abort });
    const arrive = async () => {
      arrivals.shift()?.(1);
      await settle();
    };
    return { clock, stream, expiries, arrive };
  }

  test("aborts after its limit without an event", async () => {
    const { clock, stream, expiries, arrive } = guarded();
    for (let round = 0; round < 3; round++) {
      const next = stream.next();
      await clock.advance(999);
      await arrive();
      expect(await next).toMatchObject({ value: 1 });
    }
    const last = stream.next().catch((error: unknown) => error);
    await clock.advance(1_000);
    expect(await last).toMatchObject({ reason: "Timeout", message: "watch was silent for 1000 ms" });
    expect(expiries).toHaveLength(1);
  });

  test("does not blame the connection for the time that the reader takes", async () => {
    const { clock, stream, expiries, arrive } = guarded();
    const next = stream.next();
    await arrive();
    await next;
    await clock.advance(60_000);
    expect(expiries).toEqual([]);
    await stream.return(undefined);
    expect(clock.pending).toBe(0);
  });
});
