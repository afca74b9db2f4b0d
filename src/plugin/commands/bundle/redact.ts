import type { Secret, Stored } from "kube-controller-runtime";
import { maskCoderSecrets } from "../../../coder/redact.ts";
import { ENTITY_ID_ANNOTATION } from "../../../operator/inside/object.ts";
import { ownershipMarks, REQUEST_ANNOTATION, ROTATE_ANNOTATION } from "../../../operator/names.ts";
import { PAUSE_ANNOTATION } from "../../../operator/pause.ts";
import { CHECK_ANNOTATION } from "../../../operator/upgrade/check.ts";
import { BUSY_MARKS } from "../../../operator/workload/pods/owned-pods.ts";
import { KnownSecrets, REDACTED } from "./known-secrets.ts";

/** Any value below these fields may be a secret that cannot be told from other text. */
const HIDDEN: ReadonlySet<string> = new Set([
  ...["data", "stringData", "binaryData", "args", "extraArgs", "command"],
  ...["volumeAttributes", "options", "httpHeaders", "exec", "managedFields"],
  ...["password", "token", "secret", "credentials", "email"],
]);

/** Annotations that configure how objects are handled; any other annotation may contain a secret. */
const PLAIN_ANNOTATIONS: ReadonlySet<string> = new Set([
  ...[
    CHECK_ANNOTATION,
    PAUSE_ANNOTATION,
    ENTITY_ID_ANNOTATION,
    REQUEST_ANNOTATION,
    ROTATE_ANNOTATION,
    ...Object.values(ownershipMarks),
  ],
  ...["coder.com/restart-seen", "coder.com/restarted-for"],
  ...["checksum/provisioner-key", "checksum/proxy-token"],
  ...["deployment.kubernetes.io/revision", "deployment.kubernetes.io/desired-replicas"],
  ...["deployment.kubernetes.io/max-replicas", "kubectl.kubernetes.io/restartedAt"],
  ...["kubectl.kubernetes.io/default-container", "kubernetes.io/ingress.class"],
  ...Object.keys(BUSY_MARKS),
]);

/** Fields that contain labels. Label keys are kept, even if a Secret contains the same text. */
const LABELS = /labels$|selector$/i;

/** Field that maps values of a claim, which the identity provider sends, to names in coderd. */
const CLAIM_MAPPING = "mapping";

/** Minimum length of a line of a longer value that is redacted by itself. */
const MIN_LINE_LENGTH = 24;

/**
 * Removes secrets from everything that goes into a bundle or to an assistant: by field, by value and by
 * shape.
 */
export class Redactor {
  readonly #known: KnownSecrets;

  /** `secrets` are values that are replaced wherever they appear, encoded or not. */
  constructor(secrets: readonly string[]) {
    this.#known = new KnownSecrets(secrets.map((secret) => secret.trim()).flatMap(writings));
  }

  text(text: string): string {
    return masked(this.#known.without(text));
  }

  /**
   * An API object without literal values of environment variables, arguments, other annotations and the like.
   */
  object(value: unknown): unknown {
    return this.#inside(value, "");
  }

  #inside(value: unknown, name: string): unknown {
    if (HIDDEN.has(name)) return hidden(value);
    if (typeof value === "string") return this.text(value);
    if (Array.isArray(value)) return value.map((item) => this.#item(item, name));
    if (typeof value !== "object" || value === null) return value;
    if (name === "annotations" || name === "podAnnotations") return this.#annotations(value);
    if (name === CLAIM_MAPPING) return this.#claims(value);
    const shownKey = LABELS.test(name) ? masked : (key: string) => this.text(key);
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [shownKey(key), this.#inside(inner, key)]),
    );
  }

  /** Keeps the name of an environment variable and redacts its value. */
  #item(item: unknown, list: string): unknown {
    const isVariable = list === "env" || list === "extraEnv";
    if (!isVariable || typeof item !== "object" || item === null || !("value" in item))
      return this.#inside(item, "");
    return { ...(this.#inside({ ...item, value: undefined }, "") as object), value: REDACTED };
  }

  /** Keeps what each value of the claim maps to. */
  #claims(mapping: object): object {
    const entries = Object.values(mapping).map((names, index) => [
      `${REDACTED} ${index + 1}`,
      this.#inside(names, ""),
    ]);
    return Object.fromEntries(entries);
  }

  #annotations(annotations: object): object {
    const shown = ([key, value]: [string, unknown]) =>
      [this.text(key), PLAIN_ANNOTATIONS.has(key) ? this.#inside(value, "") : REDACTED] as const;
    return Object.fromEntries(Object.entries(annotations).map(shown));
  }
}

/** The text without anything that looks like a secret. */
function masked(text: string): string {
  return maskCoderSecrets(text, { mark: REDACTED, limit: Number.POSITIVE_INFINITY });
}

/** Keeps only the size of a value. */
function hidden(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(() => REDACTED);
  return value === undefined ? undefined : REDACTED;
}

/** All encodings of a secret. */
function writings(secret: string): string[] {
  const forms = [secret, ...linesOf(secret)].flatMap((text) => [
    text,
    JSON.stringify(text).slice(1, -1),
    encodeURIComponent(text.toWellFormed()),
  ]);
  // Without padding, it is also a prefix of the encoding of the same value with a line end.
  return [...forms, Buffer.from(secret).toString("base64").replace(/=+$/, "")];
}

function linesOf(secret: string): string[] {
  if (!secret.includes("\n")) return [];
  return secret
    .split("\n")
    .map((line) => line.trim())
    .filter(({ length }) => length >= MIN_LINE_LENGTH);
}

/** The name, type, labels and keys of a Secret. */
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
