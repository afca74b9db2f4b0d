import type { Secret, Stored } from "kube-controller-runtime";
import { Redactor, redactText } from "../../../coder/redact.ts";
import { ENTITY_ID_ANNOTATION } from "../../../operator/inside/object.ts";
import { ownershipMarks, REQUEST_ANNOTATION, ROTATE_ANNOTATION } from "../../../operator/names.ts";
import { PAUSE_ANNOTATION } from "../../../operator/pause.ts";
import { CHECK_ANNOTATION } from "../../../operator/upgrade/check.ts";
import { BUSY_MARKS } from "../../../operator/workload/pods/owned-pods.ts";

const REDACTED = "[redacted]";

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

/** A shorter value would match everywhere. */
const MIN_SECRET_LENGTH = 6;

/**
 * Removes secrets from everything that goes into a bundle or to an assistant: by field, by value and by
 * shape.
 */
export class ObjectRedactor {
  readonly #redactor: Redactor;

  constructor(secrets: readonly string[]) {
    this.#redactor = new Redactor({ secrets, minLength: MIN_SECRET_LENGTH });
  }

  text(text: string, limit = Number.POSITIVE_INFINITY): string {
    return this.#redactor.text(text, limit);
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
    const shownKey = LABELS.test(name) ? redactText : (key: string) => this.text(key);
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

/** Keeps only the size of a value. */
function hidden(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(() => REDACTED);
  return value === undefined ? undefined : REDACTED;
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
