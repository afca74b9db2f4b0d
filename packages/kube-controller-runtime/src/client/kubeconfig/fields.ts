import { isRecord } from "../../object.ts";
import { KubeconfigError } from "../kubeconfig-error.ts";

/** The fields of a map in a kubeconfig. A value of the wrong type is rejected with the name of its field. */
export class Fields {
  readonly #values: Readonly<Record<string, unknown>>;
  /** The location of the map, for messages: `user "dev" in /home/me/.kube/config`. */
  readonly where: string;

  /** An absent map is treated as empty; any other value is rejected. */
  constructor(value: unknown, where: string) {
    const values = value ?? {};
    if (!isRecord(values)) throw new KubeconfigError(`${where} must be a map`);
    this.#values = values;
    this.where = where;
  }

  /** The error for a field that can't be used. */
  refuse(field: string, because: string): KubeconfigError {
    return new KubeconfigError(`${field} of ${this.where} ${because}`);
  }

  /** Whether the field has a value. */
  has(field: string): boolean {
    const value = this.#values[field];
    return value !== undefined && value !== null && value !== "";
  }

  /** As in client-go, an empty string counts as absent. */
  text(field: string): string | undefined {
    if (!this.has(field)) return undefined;
    const value = this.#values[field];
    if (typeof value !== "string") throw this.refuse(field, "must be a string");
    return value;
  }

  /** The value of a required field. */
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

  /** The value without any check. */
  raw(field: string): unknown {
    return this.#values[field];
  }
}
