import type { Fence } from "../src/fence.ts";

/** Admits every request: for parts that are tested without a manager. */
export const unfenced: Fence = { signal: new AbortController().signal, assertLeading: () => {} };
