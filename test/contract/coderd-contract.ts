import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/** A coderd to hold to the recordings: fresh, unlicensed, with one owner and one member. */
export interface ContractSubject {
  readonly url: string;
  readonly ownerToken: string;
  readonly memberToken: string;
  /** Two premium licences and an enterprise one, none uploaded yet, all within a day of their end. */
  readonly licenses: { readonly premium: string; readonly premium2: string; readonly enterprise: string };
  close(): Promise<void>;
}

interface Recording {
  readonly name: string;
  readonly request: { method: string; path: string; headers: Record<string, string>; body: unknown };
  readonly response: { status: number; headers: Record<string, string>; body: unknown };
}

const RECORDINGS = new URL("../fixtures/coderd/recordings/", import.meta.url);

/** The order in which the recordings make one story: each leaves the state the next was recorded in. */
const STORY: Readonly<Record<string, readonly string[]>> = {
  "before any licence": [
    ...["healthz", "buildinfo", "route-missing", "users-me", "users-me-no-token", "users-me-bad-token"],
    ...["organizations", "organization-by-name", "organization-default-alias", "organization-missing"],
    ...["bypass-ratelimit", "daemons", "jobs", "jobs-bad-param", "replicas"],
    ...["entitlements-unlicensed", "entitlements-no-token", "entitlements-bad-token"],
    ...["keys-list-unlicensed", "keys-create-unlicensed"],
    ...["proxies-list-unlicensed", "proxies-create-unlicensed", "licenses-list-empty"],
    ...["license-add-no-token", "license-add-empty", "license-add-garbage"],
  ],
  licences: [
    ...["license-add", "license-add-duplicate", "entitlements-refresh", "entitlements-refresh-again"],
    ...["license-add-second", "licenses-list", "license-delete", "entitlements-premium"],
  ],
  "provisioner keys": [
    ...["keys-list", "keys-create", "keys-create-duplicate", "keys-create-upper", "keys-create-bad-name"],
    ...["keys-create-empty", "keys-create-long-name", "keys-create-128", "keys-create-reserved"],
    ...["keys-list-two", "keys-daemons", "key-by-plaintext", "key-by-plaintext-no-header"],
    ...["keys-delete", "keys-delete-missing", "keys-delete-encoded", "keys-list-by-org-name"],
  ],
  "workspace proxies": [
    ...["(create p1)", "proxies-list", "proxy-get", "proxy-missing", "proxies-create-duplicate"],
    ...["proxy-delete", "proxies-create", "proxy-regenerate", "proxies-create-no-icon"],
    "proxies-create-bad-name",
  ],
  "a member without rights": [
    ...["member-bypass-ratelimit", "member-keys-list", "member-keys-create"],
    ...["member-licenses-list", "member-license-add", "member-proxies-create"],
  ],
};

/** Recordings of routes that nothing of ours asks for. */
const NOT_OURS = ["debug-health"];

const PREPARATIONS: Readonly<Record<string, Recording["request"]>> = {
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
      bound["<org-id>"] = await defaultOrganization(subject);
    });
    afterAll(() => subject?.close());

    it("has every recording in the story", () => {
      const recorded = readdirSync(RECORDINGS).map((file) => file.replace(".json", ""));
      const told = Object.values(STORY).flat();
      expect([...told.filter((step) => !(step in PREPARATIONS)), ...NOT_OURS].sort()).toEqual(
        recorded.sort(),
      );
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
  bound["<session-token>"] = tokenFor(step, subject);
  const preparation = PREPARATIONS[step];
  if (preparation) {
    await send(subject, preparation, bound);
    return;
  }
  const recording = load(step);
  const answer = await send(subject, recording.request, bound);
  learn(step, answer.body, bound);
  const { status, headers, body } = recording.response;
  expect(answer.status).toBe(status);
  expect(answer.contentType).toBe(headers["Content-Type"] ?? null);
  expect(normalise(answer.body)).toEqual(normalise(body));
  expect(answer.retryAfter !== null).toBe("Retry-After" in headers);
}

function tokenFor(step: string, subject: ContractSubject): string {
  if (step.endsWith("bad-token")) return "aaaaaaaaaa-bbbbbbbbbbbbbbbbbbbbbb";
  return step.startsWith("member-") ? subject.memberToken : subject.ownerToken;
}

/** Later recordings refer to what earlier ones made. */
function learn(step: string, body: unknown, bound: Record<string, string>): void {
  const made = body as { key?: string; proxy?: { id: string } };
  if (step === "keys-create" && made.key) bound["<key-plaintext>"] = made.key;
  if (step === "proxies-create" && made.proxy) bound["<proxy-id>"] = made.proxy.id;
}

async function send(
  { url }: ContractSubject,
  request: Recording["request"],
  bound: Readonly<Record<string, string>>,
) {
  const { method, path, headers, body } = bind(request, bound);
  const response = await fetch(url + path, {
    method,
    headers,
    ...(body === null ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const contentType = response.headers.get("content-type");
  return {
    status: response.status,
    contentType,
    retryAfter: response.headers.get("retry-after"),
    body: text !== "" && contentType?.includes("json") ? JSON.parse(text) : text,
  };
}

function bind<T>(value: T, bound: Readonly<Record<string, string>>): T {
  let text = JSON.stringify(value);
  for (const [placeholder, actual] of Object.entries(bound)) text = text.replaceAll(placeholder, actual);
  return JSON.parse(text);
}

async function defaultOrganization(subject: ContractSubject): Promise<string> {
  const response = await fetch(`${subject.url}/api/v2/organizations/default`, {
    headers: { "Coder-Session-Token": subject.ownerToken },
  });
  const { id } = (await response.json()) as { id: string };
  return id;
}

function load(name: string): Recording {
  return JSON.parse(readFileSync(new URL(`${name}.json`, RECORDINGS), "utf8"));
}

/** Fields that differ from one deployment to the next and say nothing about behaviour. */
const VOLATILE = [
  ...["key", "proxy_token", "version", "webpush_public_key", "account_id", "hostname"],
  ...["iat", "nbf", "exp", "license_expires", "database_latency"],
];

/** Replaces what may differ, and only that: ids, times, secrets, the tail of an authorization dump. */
function normalise(value: unknown, field = ""): unknown {
  if (Array.isArray(value)) return value.map((item) => normalise(item));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, normalise(item, key)]));
  if (VOLATILE.includes(field) && value !== "") return `<${field}>`;
  if (typeof value !== "string") return value;
  return value
    .replace(/^(<[a-z-]+-id>|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/, "<uuid>")
    .replace(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/, "<time>")
    .replace(/rbac: forbidden: .*$/s, "rbac: forbidden: …")
    .replace(/wait \d+ seconds/, "wait N seconds");
}
