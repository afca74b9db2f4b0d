import { maskSecrets, type Secret, type Stored } from "kube-controller-runtime";

const REDACTED = "[redacted]";

/** A shorter one would be found everywhere, and is no secret worth the name. */
const SHORTEST = 6;
/** So much of a longer one is enough to recognise it, and all that a line of a log would hold of it. */
const LONGEST = 4_096;

/** What Helm keeps of its releases is large, compressed, and nothing that appears elsewhere. */
const HELM_RELEASE = "helm.sh/release.v1";

/** Whatever is below these names may be a secret that nothing tells from other text. */
const HIDDEN: ReadonlySet<string> = new Set([
  ...["data", "stringData", "binaryData", "args", "extraArgs", "command"],
  ...["volumeAttributes", "options", "httpHeaders", "exec", "managedFields"],
  ...["password", "token", "secret", "credentials"],
]);

/** Annotations of these say how things are run; those of others may say anything. */
const PLAIN_ANNOTATION =
  /^(coder\.com|([a-z0-9-]+\.)*kubernetes\.io|karpenter\.sh|checksum)\/(?!last-applied-configuration)/;

/** Takes out of everything that goes into a bundle what is secret: by where it stands, by what it is, and by its shape. */
export class Redactor {
  readonly #known: RegExp | undefined;

  /** `secrets` are values that are replaced wherever they appear, encoded or not. */
  constructor(secrets: readonly string[]) {
    const long = secrets.map((secret) => secret.trim()).filter(({ length }) => length >= SHORTEST);
    const all = new Set(
      long.flatMap((secret) => [secret, Buffer.from(secret).toString("base64"), ...linesOf(secret)]),
    );
    // A longer one first: a part of it must not be what keeps it from being recognised.
    const known = [...all].sort((a, b) => b.length - a.length).map(escaped);
    this.#known = known.length > 0 ? new RegExp(known.join("|"), "g") : undefined;
  }

  text(text: string): string {
    const rest = this.#known ? text.replace(this.#known, REDACTED) : text;
    return maskSecrets(rest, { mark: REDACTED, limit: Number.POSITIVE_INFINITY }).text;
  }

  /** An object of the API without literal values of environment variables, arguments, annotations of others and the like. */
  object(value: unknown): unknown {
    return this.#inside(value, "");
  }

  #inside(value: unknown, name: string): unknown {
    if (HIDDEN.has(name)) return hidden(value);
    if (typeof value === "string") return this.text(value);
    if (Array.isArray(value)) return value.map((item) => this.#item(item, name));
    if (typeof value !== "object" || value === null) return value;
    if (name === "annotations" || name === "podAnnotations") return this.#annotations(value);
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [this.text(key), this.#inside(inner, key)]),
    );
  }

  /** An environment variable has a name that says much, and a value that may be anything. */
  #item(item: unknown, list: string): unknown {
    const isVariable = list === "env" || list === "extraEnv";
    if (!isVariable || typeof item !== "object" || item === null || !("value" in item))
      return this.#inside(item, "");
    return { ...(this.#inside({ ...item, value: undefined }, "") as object), value: REDACTED };
  }

  #annotations(annotations: object): object {
    const shown = ([key, value]: [string, unknown]) =>
      [this.text(key), PLAIN_ANNOTATION.test(key) ? this.#inside(value, "") : REDACTED] as const;
    return Object.fromEntries(Object.entries(annotations).map(shown));
  }
}

/** How much there was is worth knowing, and no secret. */
function hidden(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(() => REDACTED);
  return value === undefined ? undefined : REDACTED;
}

function escaped(text: string): string {
  return text.slice(0, LONGEST).replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");
}

function linesOf(secret: string): string[] {
  if (!secret.includes("\n")) return [];
  return secret
    .split("\n")
    .map((line) => line.trim())
    .filter(({ length }) => length >= 4 * SHORTEST);
}

/** A Secret's name, type, labels and keys. */
export function keysOnly({ metadata, type, data = {} }: Stored<Secret>): object {
  const { name, namespace, labels, creationTimestamp } = metadata;
  const keys = Object.entries(data).map(([key, value]) => ({
    key,
    bytes: Buffer.from(value, "base64").length,
  }));
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace, labels, creationTimestamp },
    type,
    keys,
  };
}

/** The values that must appear nowhere. */
export function valuesOf(secrets: readonly Stored<Secret>[]): string[] {
  const small = secrets.filter(({ type }) => type !== HELM_RELEASE);
  return small.flatMap(({ data = {} }) =>
    Object.values(data).map((value) => Buffer.from(value, "base64").toString("utf8")),
  );
}
