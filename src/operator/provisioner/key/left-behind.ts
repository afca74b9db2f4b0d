import type { Environment } from "../observe.ts";

/** A key that stays at coderd, and why. */
export interface LeftKey {
  readonly name: string;
  readonly problem: string;
}

/** One event for all: an object may cause only so many, and each could be the one that is dropped. */
export function reportLeft(left: readonly LeftKey[], { log, own }: Pick<Environment, "log" | "own">): void {
  for (const { name, problem } of left) log.warn("provisioner key was left behind", { key: name, problem });
  const names = left.map(({ name }) => `"${name}"`).join(", ");
  const what =
    left.length === 1
      ? `Provisioner key ${names} stays at coderd; delete it by hand.`
      : `Provisioner keys ${names} stay at coderd; delete them by hand.`;
  const problems = new Set(left.map(({ problem }) => problem));
  own.emit("Warning", "KeyLeftBehind", [what, ...problems].join(" "));
}
