import type { Dice } from "kube-controller-runtime/testing";

/** The part of a CRD's schema by which objects are drawn. */
export interface DrawnSchema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, DrawnSchema>>;
  readonly required?: readonly string[];
  readonly items?: DrawnSchema;
  readonly additionalProperties?: DrawnSchema;
  readonly "x-kubernetes-int-or-string"?: boolean;
}

/** Pieces that were slow to search, odd to handle, or both, when repeated. */
export const hostilePieces: readonly string[] = [
  ...["a", "a.", "a:", "://", "a://b:", "@", "/", "$(", "$(A)", "$$", "%", "%zz", "-eyJ", "eyJa.", "bearer "],
  ...["-----BEGIN CERTIFICATE-----", "\n", "\u0000", "\u202e", "\ud83d\ude00", '"', "\\", "{", "[", "<"],
  ...["__proto__", "constructor", "*", ",", "=", "../"],
];

const MAX_LENGTH = 80_000;
const NAMES: readonly string[] = ["coder", "x", "a-name", "kube-system", "db", "token"];

/** A value for a schema: mostly one that admission takes, with what is extreme in it as often as not. */
export function drawValue(schema: DrawnSchema, dice: Dice, depth = 0): unknown {
  if (schema.enum) return dice.pick(schema.enum as string[]);
  if (schema["x-kubernetes-int-or-string"]) return dice.pick<string | number>(["1", 5, "250m", "8Gi"]);
  if (schema.additionalProperties) return drawMap(schema, dice, depth);
  switch (schema.type) {
    case "object":
      return drawObject(schema, dice, depth);
    case "array":
      return drawList(schema, dice, depth);
    case "integer":
      return drawInteger(schema, dice);
    case "boolean":
      return dice.next() < 0.5;
    default:
      return drawText(schema, dice);
  }
}

function drawObject(schema: DrawnSchema, dice: Dice, depth: number): Record<string, unknown> {
  const { properties = {}, required = [] } = schema;
  const likelihood = depth < 2 ? 0.35 : 0.2;
  const chosen = Object.entries(properties).filter(
    ([name]) => required.includes(name) || dice.next() < likelihood,
  );
  return Object.fromEntries(chosen.map(([name, field]) => [name, drawValue(field, dice, depth + 1)]));
}

function drawList({ items = {}, minItems = 0, maxItems = 8 }: DrawnSchema, dice: Dice, depth: number) {
  const many = dice.next() < 0.1 && items.type === "string" ? Math.min(maxItems, 300) : 3;
  const length = Math.max(minItems, dice.whole(0, many));
  return Array.from({ length }, () => drawValue(items, dice, depth + 1));
}

function drawMap({ additionalProperties = {} }: DrawnSchema, dice: Dice, depth: number) {
  const keys = Array.from({ length: dice.whole(0, 4) }, () =>
    dice.pick([...NAMES, "example.com/key", "k".repeat(300), "constructor", ""]),
  );
  return Object.fromEntries(keys.map((key) => [key, drawValue(additionalProperties, dice, depth + 1)]));
}

function drawInteger({ minimum = -(2 ** 31), maximum = 2 ** 31 - 1 }: DrawnSchema, dice: Dice): number {
  return dice.pick([minimum, maximum, Math.max(minimum, 0), Math.max(minimum, 1), Math.min(maximum, 3)]);
}

function drawText({ pattern, maxLength = MAX_LENGTH, minLength = 0 }: DrawnSchema, dice: Dice): string {
  if (pattern || dice.next() < 0.4) return dice.pick(NAMES);
  if (minLength === 0 && dice.next() < 0.1) return "";
  return drawHostileText(dice, Math.min(maxLength, dice.pick([64, 2_000, MAX_LENGTH])));
}

/** A text of that length that is slow to search. */
export function drawHostileText(dice: Dice, length: number): string {
  const piece = dice.pick(hostilePieces) + (dice.next() < 0.5 ? dice.pick(hostilePieces) : "");
  return piece
    .repeat(Math.ceil(length / piece.length))
    .slice(0, length)
    .toWellFormed();
}
