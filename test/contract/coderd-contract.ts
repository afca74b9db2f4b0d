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

/** The order in which the recordings make one story: each leaves the state the next was recorded in. */
const STORY: Readonly<Record<string, readonly string[]>> = {
  "an empty database": [
    ...["first-user-none", "first-user-bad-fields", "first-user-empty", "first-user-weak-password"],
    ...["first-user-long-password", "first-user-create", "first-user-there", "first-user-create-again"],
    ...["first-user-login-wrong", "first-user-login-unknown", "first-user-login"],
    ...[
      "first-user-me",
      "first-user-get",
      "first-user-missing",
      "first-user-logout",
      "first-user-logged-out",
    ],
  ],
  "before any license": [
    ...["healthz", "buildinfo", "route-missing", "users-me", "users-me-no-token", "users-me-bad-token"],
    ...["organizations", "organization-by-name", "organization-default-alias", "organization-missing"],
    ...["bypass-ratelimit", "daemons", "daemons-bad-param", "jobs", "jobs-bad-param", "replicas"],
    "debug-health",
    ...["(import a template)", "jobs-unfinished", "workspaces-empty", "workspaces-organization-alias"],
    ...["entitlements-unlicensed", "entitlements-no-token", "entitlements-bad-token"],
    ...["keys-list-unlicensed", "keys-create-unlicensed"],
    ...[
      "proxies-list-unlicensed",
      "proxies-create-unlicensed",
      "proxy-token-unlicensed",
      "licenses-list-empty",
    ],
    ...["appearance-unlicensed", "appearance-set-unlicensed", "appearance-hidden", "prebuilds-unlicensed"],
    ...["license-add-no-token", "license-add-empty", "license-add-garbage"],
  ],
  licenses: [
    ...["license-add", "license-add-duplicate", "entitlements-refresh", "entitlements-refresh-again"],
    ...["license-add-second", "licenses-list", "license-delete", "entitlements-premium"],
  ],
  "provisioner keys": [
    ...["keys-list", "keys-create", "keys-create-duplicate", "keys-create-upper", "keys-create-bad-name"],
    ...["keys-create-empty", "keys-create-long-name", "keys-create-128", "keys-create-reserved"],
    ...["keys-list-two", "keys-daemons", "key-by-plaintext", "key-by-plaintext-no-header"],
    ...["key-by-secret", "key-by-secret-unknown", "key-by-secret-short"],
    ...["keys-delete", "keys-delete-missing", "keys-delete-encoded", "keys-list-by-org-name"],
    "keys-list-bad-token",
  ],
  announcements: [
    ...["appearance", "appearance-set", "appearance-two", "appearance-bad-color", "appearance-no-token"],
    ...["appearance-bad-token", "appearance-reset", "appearance-none"],
    ...["prebuilds", "prebuilds-resume-first", "prebuilds-pause", "prebuilds-pause-again"],
    ...["prebuilds-paused", "prebuilds-resume"],
    ...["member-appearance", "member-appearance-set", "member-prebuilds", "member-prebuilds-pause"],
  ],
  "workspace proxies": [
    ...[
      "proxies-list-bad-token",
      "(create p1)",
      "proxies-list",
      "proxy-get",
      "proxy-missing",
      "proxies-create-duplicate",
    ],
    ...["proxy-delete", "proxies-create", "proxy-token-accepted", "proxy-update", "proxy-regenerate"],
    ...["proxy-token-outdated", "proxy-token-missing", "proxies-create-no-icon", "proxies-create-bad-name"],
  ],
  "a member without rights": [
    ...["member-bypass-ratelimit", "member-keys-list", "member-keys-create"],
    ...["member-licenses-list", "member-license-add", "member-proxies-create"],
    ...["member-jobs", "member-daemons", "member-debug-health", "member-workspaces"],
  ],
  "a token that looks itself up and ends itself": [
    ...["member-tokens-get", "tokens-get-missing", "tokens-delete-missing"],
    ...["member-tokens-delete", "member-tokens-deleted"],
  ],
};

const RECORDED_HEADERS = ["Content-Type", "Retry-After"];

const PREPARATIONS: Readonly<Record<string, Recording["request"]>> = {
  "(import a template)": {
    method: "POST",
    path: "/api/v2/organizations/<org-id>/templateversions",
    headers: { "Coder-Session-Token": "<session-token>" },
    body: { storage_method: "file", example_id: "scratch", provisioner: "terraform", tags: { pool: "a" } },
  },
  "(create p1)": {
    method: "POST",
    path: "/api/v2/workspaceproxies",
    headers: { "Coder-Session-Token": "<session-token>" },
    body: { name: "p1", display_name: "P1", icon: "/emojis/1f30d.png" },
  },
};

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
  const compared = step === "debug-health" ? comparableHealth : comparable;
  const [actual, expected] = [compared(answer), compared(recording.response)];
  if (subject.isRecorded && !isDeepStrictEqual(actual, expected))
    return saveRecording({ ...recording, response: answer }, subject.version, bound);
  expect(actual).toEqual(expected);
}

function comparable({ status, headers, body }: Recording["response"]) {
  const contentType = headers["Content-Type"];
  return { status, contentType, hasRetryAfter: "Retry-After" in headers, body: normalize(body) };
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

/** Later recordings refer to what earlier ones made. */
function learn(step: string, body: unknown, bound: Record<string, string>): void {
  const made = body as {
    key?: string;
    proxy?: { id: string };
    proxy_token?: string;
    session_token?: string;
  };
  if (step === "first-user-login" && made.session_token) bound["<first-session>"] = made.session_token;
  if (step === "keys-create" && made.key) bound["<key-plaintext>"] = made.key;
  if (step === "proxies-create" && made.proxy) bound["<proxy-id>"] = made.proxy.id;
  if (step === "proxies-create" && made.proxy_token) bound["<proxy-token>"] = made.proxy_token;
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
