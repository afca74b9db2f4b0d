/**
 * What a reconcile wants next. `awaitChange` sleeps until a watched object changes; `requeue` runs the
 * key again after `afterMs` at the latest. Failure is not an action: a reconcile throws.
 */
export type Action =
  | { readonly kind: "awaitChange" }
  | { readonly kind: "requeue"; readonly afterMs: number };

/** Run again when a watched object changes. */
export const awaitChange: Action = { kind: "awaitChange" };

/** Run again after this time, or earlier when a watched object changes. */
export function requeue(afterMs: number): Action {
  return { kind: "requeue", afterMs };
}
