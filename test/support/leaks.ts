/** Too short to be a secret, and too likely to be found by chance. */
const MIN_SECRET_LENGTH = 8;

/** Values that must not show anywhere, and the search for them. */
export class Secrets {
  readonly #values = new Set<string>();

  /** Of a URL the password is secret by itself too. */
  add(...values: readonly string[]): void {
    for (const value of values.flatMap((text) => [text.trim(), passwordIn(text)]))
      if (value.length >= MIN_SECRET_LENGTH) this.#values.add(value);
  }

  get size(): number {
    return this.#values.size;
  }

  /** The secrets that the text holds, as they are or in a form that gives them away, each shortened. */
  foundIn(text: string): string[] {
    return [...this.#values]
      .filter((value) => formsOf(value).some((form) => text.includes(form)))
      .map((value) => `${value.slice(0, 4)}… (${value.length} characters)`);
  }
}

function passwordIn(text: string): string {
  return decodeURIComponent(URL.parse(text.trim())?.password ?? "");
}

function formsOf(value: string): string[] {
  const encoded = Buffer.from(value, "utf8");
  const json = JSON.stringify(value).slice(1, -1);
  return [value, json, encodeURIComponent(value), encoded.toString("base64"), encoded.toString("base64url")];
}

/** All the text in whatever was thrown: messages, stacks and plain fields, down through its causes. */
export function textOfError(error: unknown, depth = 0): string {
  if (typeof error !== "object" || error === null || depth > 8) return String(error);
  const fields = Object.values(error).filter(
    (value) => typeof value === "string" || typeof value === "number",
  );
  const { cause, errors } = error as { cause?: unknown; errors?: unknown[] };
  const inner = [...(cause === undefined ? [] : [cause]), ...(Array.isArray(errors) ? errors : [])];
  const own = error instanceof Error ? [error.message, error.stack ?? ""] : [];
  return [...own, ...fields, ...inner.map((each) => textOfError(each, depth + 1))].join("\n");
}
