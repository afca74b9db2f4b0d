import { isDeepStrictEqual } from "node:util";
import { redact } from "../../../coder/redact.ts";
import { expectedBecause } from "./expected.ts";
import { type Json, propertyOf } from "./json.ts";
import { type Leaves, leavesOf } from "./leaves.ts";
import { amountOf } from "./quantity.ts";

/** A field that is not the same before and after. */
export interface Difference {
  readonly kind: string;
  readonly path: string;
  /** What is there now and what would be; absent where nothing is. Values of variables are not shown. */
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** Why it has to be so; absent: a person should look at it. */
  readonly because: string | undefined;
}

/** Kinds that a release of the charts has at most one of. What else it has comes from `extraTemplates`. */
const COMPARED_KINDS = ["Deployment", "Service", "Ingress", "ServiceAccount", "Role", "RoleBinding"] as const;

/** All fields in which objects of a release differ from those that the operator would make, of the kinds given. */
export function differences(
  release: readonly Json[],
  ours: readonly Json[],
  kinds: readonly string[] = COMPARED_KINDS,
): Difference[] {
  return kinds.flatMap((kind) => {
    const [before, after] = [ofKind(release, kind), ofKind(ours, kind)];
    if (before === undefined && after === undefined) return [];
    if (before === undefined || after === undefined) {
      const there = (object: Json) => (object === undefined ? undefined : "there");
      return [difference(kind, "", { before: there(before), after: there(after) })];
    }
    return between(kind, leavesOf(before), leavesOf(after));
  });
}

function ofKind(objects: readonly Json[], kind: string): Json {
  return objects.find((object) => propertyOf(object, "kind") === kind);
}

function between(kind: string, before: Leaves, after: Leaves): Difference[] {
  const paths = [...new Set([...before.keys(), ...after.keys()])].sort();
  const changed = paths.filter((path) => !isSame(path, before.get(path), after.get(path)));
  const side = (leaves: Leaves, path: string) => shown(path, leaves.get(path));
  return changed.map((path) =>
    difference(kind, path, { before: side(before, path), after: side(after, path) }),
  );
}

/** The API server writes quantities in another way than people: 2000m is 2. */
function isSame(path: string, before: Json, after: Json): boolean {
  if (isDeepStrictEqual(before, after)) return true;
  const amount = /\.resources\.(limits|requests)\./.test(path) ? amountOf(before) : undefined;
  return amount !== undefined && amount === amountOf(after);
}

function difference(kind: string, path: string, sides: Pick<Difference, "before" | "after">): Difference {
  const because = expectedBecause(`${kind} ${path}`.trim(), sides);
  return { kind, path: redact(because === undefined ? withoutArgument(path) : path), ...sides, because };
}

/** An argument is part of its path, and may be a password: no more is shown of it than the flag. */
function withoutArgument(path: string): string {
  return path.replace(
    /(\.args\[)(--?[\w-]+=)?.*\]$/s,
    (_, start: string, flag = "") => `${start}${flag}(a value)]`,
  );
}

/** A variable or a command may hold a password in plain text. */
function shown(path: string, value: Json): string | undefined {
  if (value === undefined) return undefined;
  return /\.env\[.*\]\.value$|\.command\[[1-9]\d*\]$/.test(path) ? "(a value)" : redact(`${value}`);
}
