/**
 * The result of a reconcile. `awaitChange` waits until a watched object changes; `requeue` runs the key again
 * after `afterMs` at the latest. A failure is not an action: a reconcile throws.
 */
export type Action =
  | { readonly kind: "awaitChange" }
  | { readonly kind: "requeue"; readonly afterMs: number };

/** Run again when a watched object changes. */
export const awaitChange: Action = { kind: "awaitChange" };

/** Run again after this time, or earlier if a watched object changes. */
export function requeue(afterMs: number): Action {
  return { kind: "requeue", afterMs };
}
