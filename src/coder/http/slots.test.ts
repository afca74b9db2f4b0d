import { settle } from "kube-controller-runtime/testing";
import { describe, expect, it } from "vitest";
import { Slots } from "./slots.ts";

const never = new AbortController().signal;

describe("slots", () => {
  it("admits no more than the limit, and the next ones in order of arrival", async () => {
    const slots = new Slots(2);
    const entered: string[] = [];
    const enter = async (name: string) => {
      const leave = await slots.take(never);
      entered.push(name);
      return leave;
    };
    const first = await enter("a");
    await enter("b");
    void enter("c");
    void enter("d");
    await settle();
    expect(entered).toEqual(["a", "b"]);
    first();
    await settle();
    expect(entered).toEqual(["a", "b", "c"]);
  });

  it("gives up waiting when its signal is aborted, and hands its turn to the next", async () => {
    const slots = new Slots(1);
    const leave = await slots.take(never);
    const waiter = new AbortController();
    const waiting = slots.take(waiter.signal);
    const next = slots.take(never);
    waiter.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    leave();
    await expect(next).resolves.toBeTypeOf("function");
  });
});
