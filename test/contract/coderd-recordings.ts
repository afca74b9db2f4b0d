import { readdirSync, readFileSync, writeFileSync } from "node:fs";

/** One exchange with a real coderd. Placeholders stand for what differs from one deployment to the next. */
export interface Recording {
  readonly name: string;
  readonly request: { method: string; path: string; headers: Record<string, string>; body: unknown };
  readonly response: { status: number; headers: Record<string, string>; body: unknown };
}

/** What placeholders stand for in the deployment at hand. */
export type Bindings = Readonly<Record<string, string>>;

const RECORDINGS = new URL("../fixtures/coderd/recordings/", import.meta.url);

export function recordingNames(): string[] {
  return readdirSync(RECORDINGS).map((file) => file.replace(".json", ""));
}

export function loadRecording(name: string): Recording {
  return JSON.parse(readFileSync(new URL(`${name}.json`, RECORDINGS), "utf8"));
}

/** Keeps an exchange, with placeholders for all that is secret. */
export function saveRecording(recording: Recording, bound: Bindings): void {
  const text = JSON.stringify(recording, scrubbed, 1);
  const file = new URL(`${recording.name}.json`, RECORDINGS);
  writeFileSync(
    file,
    replaceAll(
      text,
      Object.entries(bound).map(([name, value]) => [value, name]),
    ),
  );
}

/** Puts the values of the deployment at hand in for placeholders. */
export function bind<T>(value: T, bound: Bindings): T {
  return JSON.parse(replaceAll(JSON.stringify(value), Object.entries(bound)));
}

function replaceAll(text: string, replacements: readonly (readonly [string, string])[]): string {
  return replacements.reduce((current, [from, to]) => current.replaceAll(from, to), text);
}

/** What no recording may contain: secrets that are shown only once, and the machine it was made on. */
function scrubbed(field: string, value: unknown): unknown {
  if (field === "key" && typeof value === "string") return "<key-plaintext>";
  if (field === "proxy_token" && value !== "") return "<proxy-token>";
  return field === "hostname" ? "vm" : value;
}

/** Fields that differ from one deployment to the next and say nothing about behaviour. */
const VOLATILE = [
  ...["key", "proxy_token", "version", "account_id", "hostname", "actual", "template_version_name"],
  ...["iat", "nbf", "exp", "license_expires", "database_latency"],
];

/** Replaces what may differ, and only that: ids, times, secrets, numbers of things. */
export function normalise(value: unknown, field = ""): unknown {
  if (Array.isArray(value)) return value.map((item) => normalise(item));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, normalise(item, key)]));
  if (VOLATILE.includes(field) && value !== "") return `<${field}>`;
  // Of a proxy that no pod stands for coderd says the one or the other, depending on when it looked last.
  if (field === "status" && value === "unknown") return "unregistered";
  if (typeof value !== "string") return value;
  return value
    .replace(/^(<[a-z-]+-id>|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/, "<uuid>")
    .replace(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/, "<time>")
    .replace(/wait \d+ seconds/, "wait N seconds");
}
