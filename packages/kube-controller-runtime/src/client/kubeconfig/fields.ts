import { isRecord } from "../../object.ts";
import { KubeconfigError } from "../kubeconfig-error.ts";

/** The fields of a map in a kubeconfig. A value of another type is refused by the name of its field. */
export class Fields {
  readonly #values: Readonly<Record<string, unknown>>;
  /** Where the map is, for messages: `user "dev" in /home/me/.kube/config`. */
  readonly where: string;

  /** An absent map means an empty one; what is no map is refused. */
  constructor(value: unknown, where: string) {
    const values = value ?? {};
    if (!isRecord(values)) throw new KubeconfigError(`${where} must be a map`);
    this.#values = values;
    this.where = where;
  }

  /** What to throw when a field can't be used. */
  refuse(field: string, because: string): KubeconfigError {
    return new KubeconfigError(`${field} of ${this.where} ${because}`);
  }

  /** Whether the field has any content. */
  has(field: string): boolean {
    const value = this.#values[field];
    return value !== undefined && value !== null && value !== "";
  }

  /** As in client-go, an empty text is an absent one. */
  text(field: string): string | undefined {
    if (!this.has(field)) return undefined;
    const value = this.#values[field];
    if (typeof value !== "string") throw this.refuse(field, "must be a string");
    return value;
  }

  /** The text of a field that must have one. */
  required(field: string): string {
    const value = this.text(field);
    if (value === undefined) throw this.refuse(field, "is missing");
    return value;
  }

  flag(field: string): boolean {
    const value = this.#values[field] ?? false;
    if (typeof value !== "boolean") throw this.refuse(field, "must be true or false");
    return value;
  }

  texts(field: string): readonly string[] {
    const value = this.#values[field] ?? [];
    const areTexts = Array.isArray(value) && value.every((item) => typeof item === "string");
    if (!areTexts) throw this.refuse(field, "must be a list of strings");
    return value;
  }

  map(field: string): Fields | undefined {
    return this.has(field) ? new Fields(this.#values[field], `${field} of ${this.where}`) : undefined;
  }

  maps(field: string): readonly Fields[] {
    const value = this.#values[field] ?? [];
    if (!Array.isArray(value)) throw this.refuse(field, "must be a list");
    return value.map((item) => new Fields(item, `${field} of ${this.where}`));
  }

  names(): readonly string[] {
    return Object.keys(this.#values);
  }

  /** A value that is handed on as it is. */
  raw(field: string): unknown {
    return this.#values[field];
  }
}
