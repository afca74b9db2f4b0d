import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  bind,
  loadRecording,
  normalize,
  type RecordedVersion,
  type Recording,
  recordingNames,
  saveRecording,
} from "./coderd-recordings.ts";
import { PREPARATIONS, STORY } from "./coderd-story.ts";

/** A coderd to hold to the recordings: fresh, unlicensed, with one owner and one member. */
export interface ContractSubject {
  readonly version: RecordedVersion;
  readonly url: string;
  /** Another coderd of this version, without any user. */
  readonly emptyURL: string;
  readonly ownerToken: string;
  readonly memberToken: string;
  /** Two premium licenses and an enterprise one, none uploaded yet, all within a day of their end. */
  readonly licenses: { readonly premium: string; readonly premium2: string; readonly enterprise: string };
  /** Whether its answers take the place of recordings that say otherwise, instead of being held to them. */
  readonly isRecorded?: boolean;
  close(): Promise<void>;
}

const RECORDED_HEADERS = ["Content-Type", "Retry-After"];

/** Replays every recording, in order, and compares status, content type and body. */
export function coderdContract(name: string, start: () => Promise<ContractSubject>): void {
  describe(name, () => {
    const bound: Record<string, string> = {};
    let subject: ContractSubject;

    beforeAll(async () => {
      subject = await start();
      bound["<premium-license-jwt>"] = subject.licenses.premium;
      bound["<premium2-license-jwt>"] = subject.licenses.premium2;
      bound["<enterprise-license-jwt>"] = subject.licenses.enterprise;
      bound["<first-password>"] = "a-Long-enough-1-password";
      bound["<member-token-id>"] = subject.memberToken.split("-")[0] ?? "";
      bound["<org-id>"] = await defaultOrganization(subject);
    });
    afterAll(() => subject?.close());

    it("has every recording in the story", () => {
      const reported = Object.values(STORY).flat();
      expect(reported.filter((step) => !(step in PREPARATIONS)).sort()).toEqual(recordingNames().sort());
    });

    for (const [chapter, steps] of Object.entries(STORY)) {
      describe(chapter, () => {
        for (const step of steps)
          it(`answers ${step} as recorded`, async () => {
            await replay(step, subject, bound);
          });
      });
    }
  });
}

async function replay(step: string, subject: ContractSubject, bound: Record<string, string>): Promise<void> {
  bound["<session-token>"] = tokenFor(step, subject, bound);
  const preparation = PREPARATIONS[step];
  if (preparation) {
    const { status } = await send(subject, preparation, bound);
    expect(status).toBe(201);
    return;
  }
  const recording = loadRecording(step, subject.version);
  const { url } = step.startsWith(FIRST_USER) ? { url: subject.emptyURL } : subject;
  const answer = await send({ url }, recording.request, bound);
  learn(step, answer.body, bound);
  const compared = comparisonOf(step);
  const [actual, expected] = [compared(answer), compared(recording.response)];
  if (subject.isRecorded && !isDeepStrictEqual(actual, expected))
    return saveRecording({ ...recording, response: answer }, subject.version, bound);
  expect(actual).toEqual(expected);
}

function comparable({ status, headers, body }: Recording["response"]) {
  const contentType = headers["Content-Type"];
  return { status, contentType, hasRetryAfter: "Retry-After" in headers, body: normalize(body) };
}

/** Steps whose answers have groups, members or roles, to which coderd gives no order. */
const UNORDERED = /\b(groups|members|roles)-/;

function comparisonOf(step: string): typeof comparable {
  if (step === "debug-health") return comparableHealth;
  return UNORDERED.test(step)
    ? (answer) => comparable({ ...answer, body: ordered(answer.body) })
    : comparable;
}

/** Sorted by name, without the permissions of built-in roles, which concern only coderd. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value))
    return value.map(ordered).toSorted((one, other) => nameOf(one).localeCompare(nameOf(other)));
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).map(([name, field]) => [name, ordered(field)] as const);
  const isBuiltIn = fields.some(([name, field]) => name === "built_in" && field === true);
  return Object.fromEntries(isBuiltIn ? fields.filter(([name]) => !name.endsWith("permissions")) : fields);
}

function nameOf(value: unknown): string {
  const { name, username } = value as { readonly name?: string; readonly username?: string };
  return username ?? name ?? JSON.stringify(value);
}

/** The parts of a health report that depend on the network around coderd, not on coderd. */
const NETWORK_SECTIONS = ["access_url", "derp", "websocket"];

/** Of its health report, which is mostly logs, what every section has and the operator reads. */
function comparableHealth({ body, ...response }: Recording["response"]) {
  const { time, ...report } = body as Record<string, unknown>;
  const sections = Object.entries(report).flatMap(([name, value]) => {
    if (typeof value !== "object" || value === null) return [];
    const { severity, error, warnings, dismissed } = value as Record<string, unknown>;
    const said = { severity: typeof severity, warnings: typeof warnings, dismissed };
    return [[name, NETWORK_SECTIONS.includes(name) ? said : { severity, error, warnings, dismissed }]];
  });
  return comparable({ ...response, body: { time, ...Object.fromEntries(sections) } });
}

/** What is asked of the coderd without users. */
const FIRST_USER = "first-user-";

function tokenFor(step: string, subject: ContractSubject, bound: Readonly<Record<string, string>>): string {
  if (step.startsWith(FIRST_USER)) return bound["<first-session>"] ?? "no-session-yet";
  if (step.endsWith("bad-token")) return "aaaaaaaaaa-bbbbbbbbbbbbbbbbbbbbbb";
  return step.startsWith("member-") ? subject.memberToken : subject.ownerToken;
}

/** The placeholder for the id of what a recording makes. */
const MADE: Readonly<Record<string, string>> = {
  "groups-create": "<group-id>",
  "groups-create-plain": "<plain-id>",
  "organization-create": "<research-id>",
};

/** Later recordings refer to what earlier ones made. */
function learn(step: string, body: unknown, bound: Record<string, string>): void {
  const made = body as {
    id?: string;
    key?: string;
    proxy?: { id: string };
    proxy_token?: string;
    session_token?: string;
  };
  const placeholder = MADE[step];
  if (placeholder && made.id) bound[placeholder] = made.id;
  if (step === "members-list") bound["<member-id>"] = idOfMember(body);
  if (step === "first-user-login" && made.session_token) bound["<first-session>"] = made.session_token;
  if (step === "keys-create" && made.key) bound["<key-plaintext>"] = made.key;
  if (step === "proxies-create" && made.proxy) bound["<proxy-id>"] = made.proxy.id;
  if (step === "proxies-create" && made.proxy_token) bound["<proxy-token>"] = made.proxy_token;
}

function idOfMember(members: unknown): string {
  const listed = members as readonly { readonly username: string; readonly user_id: string }[];
  return listed.find(({ username }) => username === "member")?.user_id ?? "";
}

async function send(
  { url }: Pick<ContractSubject, "url">,
  request: Recording["request"],
  bound: Readonly<Record<string, string>>,
): Promise<Recording["response"]> {
  const { method, path, headers, body } = bind(request, bound);
  const response = await fetch(url + path, {
    method,
    headers,
    ...(body === null ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const recorded = RECORDED_HEADERS.map((name) => [name, response.headers.get(name)] as const);
  const kept = Object.fromEntries(recorded.filter(([, value]) => value !== null)) as Record<string, string>;
  const isJson = text !== "" && kept["Content-Type"]?.includes("json");
  return { status: response.status, headers: kept, body: isJson ? JSON.parse(text) : text };
}

async function defaultOrganization(subject: ContractSubject): Promise<string> {
  const response = await fetch(`${subject.url}/api/v2/organizations/default`, {
    headers: { "Coder-Session-Token": subject.ownerToken },
  });
  const { id } = (await response.json()) as { id: string };
  return id;
}
