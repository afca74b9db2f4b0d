import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";

/** One exchange with a real coderd. Placeholders stand for what differs from one deployment to the next. */
export interface Recording {
  readonly name: string;
  readonly request: { method: string; path: string; headers: Record<string, string>; body: unknown };
  readonly response: { status: number; headers: Record<string, string>; body: unknown };
}

/** What placeholders stand for in the deployment at hand. */
export type Bindings = Readonly<Record<string, string>>;

/** The Coder that recordings are made of, the newest first. */
export const RECORDED_VERSIONS = ["2.36.1", "2.26.0"] as const;
export type RecordedVersion = (typeof RECORDED_VERSIONS)[number];
const [NEWEST] = RECORDED_VERSIONS;

const RECORDINGS = new URL("../fixtures/coderd/recordings/", import.meta.url);

export function recordingNames(): string[] {
  const files = readdirSync(RECORDINGS).filter((file) => file.endsWith(".json"));
  return files.map((file) => file.replace(".json", ""));
}

/** What a version answers. Of an older one only what it answers otherwise has a file, in a folder of its own. */
export function loadRecording(name: string, version: RecordedVersion = NEWEST): Recording {
  const own = fileOf(name, version);
  return JSON.parse(readFileSync(existsSync(own) ? own : fileOf(name, NEWEST), "utf8"));
}

/** Keeps an exchange, with placeholders for all that is secret. */
export function saveRecording(recording: Recording, version: RecordedVersion, bound: Bindings): void {
  const file = fileOf(recording.name, version);
  if (version !== NEWEST && isSame(recording, loadRecording(recording.name))) {
    rmSync(file, { force: true });
    return;
  }
  const text = JSON.stringify(recording, scrubbed, 1);
  mkdirSync(new URL(".", file), { recursive: true });
  const names = Object.entries(bound).map(([name, value]) => [value, name] as const);
  writeFileSync(file, replaceAll(text, names));
}

function fileOf(name: string, version: RecordedVersion): URL {
  return new URL(version === NEWEST ? `${name}.json` : `${version}/${name}.json`, RECORDINGS);
}

function isSame({ response: one }: Recording, { response: other }: Recording): boolean {
  return isDeepStrictEqual(
    { ...one, headers: Object.keys(one.headers), body: normalize(one.body) },
    { ...other, headers: Object.keys(other.headers), body: normalize(other.body) },
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
  if (field === "session_token") return "<first-session>";
  if (field === "webpush_public_key") return "<webpush-public-key>";
  return field === "hostname" ? "vm" : value;
}

/** Fields that differ from one deployment to the next and say nothing about behavior. */
const VOLATILE = [
  ...[
    "key",
    "proxy_token",
    "session_token",
    "version",
    "account_id",
    "hostname",
    "actual",
    "template_version_name",
  ],
  ...["webpush_public_key", "docs_url", "target"],
  ...["iat", "nbf", "exp", "license_expires", "database_latency"],
];

/** Replaces what may differ, and only that: ids, times, secrets, numbers of things. */
export function normalize(value: unknown, field = ""): unknown {
  if (Array.isArray(value)) return value.map((item) => normalize(item));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, normalize(item, key)]));
  if (VOLATILE.includes(field) && value !== "") return `<${field}>`;
  // For a proxy without pods, coderd returns either, depending on its last check.
  if (field === "status" && value === "unknown") return "unregistered";
  if (typeof value !== "string") return value;
  // The identifier of a token has an unusual format.
  if (field === "id" && /^\w{10}$/.test(value)) return "<uuid>";
  return value
    .replace(/<[a-z-]+-id>|\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "<uuid>")
    .replace(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/, "<time>")
    .replace(/wait \d+ seconds/, "wait N seconds");
}
