import { isDeepStrictEqual } from "node:util";
import { redact } from "../../../coder/redact.ts";
import { expectedBecause } from "./expected.ts";
import { type Fields, fieldsOf } from "./fields.ts";
import { type Json, propertyOf } from "./json.ts";

/** A field that differs before and after the migration. */
export interface Difference {
  readonly kind: string;
  readonly path: string;
  /** The current and the future value; absent if there is none. Values of variables are not shown. */
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** Why the difference is expected; absent if a user should review it. */
  readonly because: string | undefined;
}

/**
 * Kinds of which a release of the charts has at most one object. Other objects come from `extraTemplates`.
 */
const COMPARED_KINDS = ["Deployment", "Service", "Ingress", "ServiceAccount", "Role", "RoleBinding"] as const;

/**
 * All fields of the given kinds in which the objects of a release differ from those that the operator would
 * create.
 */
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
    return between(kind, fieldsOf(before), fieldsOf(after));
  });
}

function ofKind(objects: readonly Json[], kind: string): Json {
  return objects.find((object) => propertyOf(object, "kind") === kind);
}

function between(kind: string, before: Fields, after: Fields): Difference[] {
  const paths = [...new Set([...before.keys(), ...after.keys()])].sort();
  const changed = paths.filter((path) => !isSame(path, before.get(path), after.get(path)));
  const side = (fields: Fields, path: string) => shown(path, fields.get(path));
  return changed.map((path) =>
    difference(kind, path, { before: side(before, path), after: side(after, path) }),
  );
}

/** The API server normalizes quantities: 2000m becomes 2. */
function isSame(path: string, before: Json, after: Json): boolean {
  if (isDeepStrictEqual(before, after)) return true;
  const amount = /\.resources\.(limits|requests)\./.test(path) ? amountOf(before) : undefined;
  return amount !== undefined && amount === amountOf(after);
}

function difference(kind: string, path: string, sides: Pick<Difference, "before" | "after">): Difference {
  const because = expectedBecause(`${kind} ${path}`.trim(), sides);
  return { kind, path: redact(because === undefined ? withoutArgument(path) : path), ...sides, because };
}

/** An argument is part of its path and may be a password: show only the flag. */
function withoutArgument(path: string): string {
  return path.replace(
    /(\.args\[)(--?[\w-]+=)?.*\]$/s,
    (_, start: string, flag = "") => `${start}${flag}(a value)]`,
  );
}

/** A variable or a command may contain a password in plain text. */
function shown(path: string, value: Json): string | undefined {
  if (value === undefined) return undefined;
  return /\.env\[.*\]\.value$|\.command\[[1-9]\d*\]$/.test(path) ? "(a value)" : redact(`${value}`);
}

const FACTORS: Readonly<Record<string, number>> = {
  ...{ n: 1e-9, u: 1e-6, m: 1e-3, "": 1 },
  ...{ k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 },
  ...{ Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 },
};

/** The value of a quantity in whole units or bytes; absent if it is not a quantity. */
export function amountOf(value: Json): number | undefined {
  const [, number, suffix = ""] =
    /^(\d{1,18}(?:\.\d{1,9})?(?:[eE]\d{1,2})?)([A-Za-z]{0,2})$/.exec(`${value}`) ?? [];
  const factor = Object.hasOwn(FACTORS, suffix) ? FACTORS[suffix] : undefined;
  return number === undefined || factor === undefined ? undefined : Number(number) * factor;
}
