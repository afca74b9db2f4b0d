import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync, Visitor } from "oxc-parser";
import { generalised } from "../../lab/messages.ts";

/** What the sources say to users, in a condition or an event of some object. */
export interface Text {
  readonly file: string;
  /** With `…` for what differs from one object to the other. */
  readonly text: string;
  /** False for a part of a sentence, which other parts complete. */
  readonly isWhole: boolean;
}

/** Where messages for users are written. */
const FOLDERS = [
  "src/operator/**/*.ts",
  "src/coder/**/*.ts",
  "packages/kube-controller-runtime/src/{reconcile,controller}/*.ts",
];

/** Texts for other readers: help of metrics, reasons for permissions, a library's own errors. */
const OTHERS = /\.test\.ts$|\/metrics\/|\/rbac\.ts$/;

/** All texts of the sources, without repetitions, in the order of the files. */
export function textsIn(root: string): Text[] {
  const files = globSync(FOLDERS, { cwd: root }).sort();
  const texts = files
    .filter((file) => !OTHERS.test(file))
    .flatMap((file) => textsOf(readFileSync(join(root, file), "utf8"), file));
  return [...new Map(texts.map((text) => [text.text, text])).values()];
}

/** The texts among the strings and templates of a module. */
export function textsOf(source: string, file: string): Text[] {
  const found: string[] = [];
  const { program } = parseSync(file, source);
  new Visitor({
    Literal: ({ value }) => {
      if (typeof value === "string") found.push(value);
    },
    TemplateLiteral: ({ quasis }) => {
      found.push(quasis.map(({ value }) => value.cooked ?? "").join(HOLE));
    },
  }).visit(program);
  return found
    .map((text) => generalised(text))
    .filter((text) => wordsOf(text).length > 1)
    .map((text) => ({ file, text, isWhole: isSentence(text) }));
}

const HOLE = "…";

function wordsOf(text: string): string[] {
  return text.split(/[\s…]+/).filter((word) => /^[("]?[A-Za-z']{2,}/.test(word));
}

/** Log lines and errors for developers begin with a small letter. */
function isSentence(text: string): boolean {
  return (
    wordsOf(text).length > 2 && /^([A-Z"…]|coderd\b|spec\.)/.test(text) && /([.?]…*|\bkubectl .*)$/.test(text)
  );
}

/**
 * Whether a message has a whole sentence of the sources, is one of their texts from beginning to end, or consists of
 * their parts for at least half of its words: fewer may be those of another message.
 */
export function saidBy(texts: readonly Text[]): (message: string) => boolean {
  const known = texts
    .map((text) => ({ ...text, pattern: patternOf(text) }))
    .sort((a, b) => b.text.length - a.text.length);
  return (message) => {
    const found = known.filter(({ pattern }) => pattern.test(message));
    if (found.some((text) => text.isWhole || isAllOf(message, text))) return true;
    const parts = found.flatMap(({ text }) => text.split(HOLE).filter((part) => wordsOf(part).length > 0));
    const left = parts.reduce((rest, part) => rest.replace(part.trim(), " "), message);
    return wordsOf(left).length * 2 <= wordsOf(message).length;
  };
}

/** A text that begins with a hole could be all of any message. */
function isAllOf(message: string, text: Text): boolean {
  return !text.text.startsWith(HOLE) && new RegExp(`^${patternOf(text).source}$`, "s").test(message);
}

/** Whether a message contains the text, whatever stands in its holes. */
export function patternOf({ text }: Text): RegExp {
  const parts = text.split(HOLE).map((part) => part.trim().replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(parts.join(".*"), "s");
}
