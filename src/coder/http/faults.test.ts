import { createServer } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { createCertificateAuthority, settle, unfenced, VirtualClock } from "kube-controller-runtime/testing";
import { Agent } from "undici";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { StaticAccounts } from "../../../lab/coderd/accounts.ts";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import type { Fault } from "../../../lab/coderd/faults.ts";
import { fakeLicense } from "../../../lab/coderd/licenses.ts";
import { type CoderdServer, startCoderdServer } from "../../../lab/coderd/server.ts";
import { CoderClients, type CoderTarget } from "../clients.ts";
import type { CoderFailure } from "../failure.ts";
import { fixedAddress } from "./route.ts";

const TOKEN = "sekretsekr-sekretsekretsekretsek1";
const JWT = "eyJhbGciOiJub25lIn0.eyJqdGkiOiJtYXJrZWQifQ.bWFya2Vk";

let clock: VirtualClock;
let clients: CoderClients;
let server: CoderdServer;
let deployment: CoderdDeployment;

beforeEach(async () => {
  clock = new VirtualClock();
  clients = new CoderClients({ clock, fence: unfenced });
  server = await startCoderdServer();
  const accounts = new StaticAccounts();
  accounts.add(TOKEN, { owner: true });
  deployment = server.add({ accounts });
});

afterEach(async () => {
  await clients.close();
  await server.close();
});

async function entitlementsFailure(target: CoderTarget = { url: server.url, token: TOKEN }) {
  const result = await clients.client(target).entitlements();
  if (result.ok) throw new Error("succeeded");
  return result.failure;
}

const cases: [string, Fault, CoderFailure["kind"], RegExp][] = [
  ["HTML", { kind: "html" }, "transient", /HTML instead of JSON.*HTTP 200/],
  ["HTML with 404", { kind: "html", status: 404 }, "transient", /HTML instead of JSON.*HTTP 404/],
  ["HTML with 401", { kind: "html", status: 401 }, "transient", /HTML instead of JSON.*HTTP 401/],
  ["HTML with 429", { kind: "html", status: 429 }, "rateLimited", /too many requests/],
  ["truncated JSON", { kind: "truncatedJson" }, "transient", /truncated or malformed JSON/],
  ["JSON of another type", { kind: "wrongShape" }, "transient", /is a number where an object was expected/],
  [
    "a field of another type",
    { kind: "answer", status: 200, body: { has_license: "yes", trial: false, features: {} } },
    "transient",
    /\.has_license is a string where a boolean was expected/,
  ],
  ["a missing field", { kind: "answer", status: 200, body: {} }, "transient", /\.has_license is absent/],
  ["nothing", { kind: "cut" }, "transient", /the connection was interrupted/],
  ["half an answer", { kind: "cut", midBody: true }, "transient", /the connection was interrupted/],
  ["a redirect loop", { kind: "redirectLoop" }, "transient", /redirect loop/],
  [
    "a redirect to another host",
    { kind: "redirect", to: "https://evil.example/steal?x=1" },
    "transient",
    /another host, https:\/\/evil\.example; not followed/,
  ],
  [
    "a redirect nowhere",
    { kind: "redirect", to: "http://[" },
    "transient",
    /without a valid Location header/,
  ],
  ["401", { kind: "answer", status: 401 }, "forbidden", /Injected.*HTTP 401/],
  ["403", { kind: "answer", status: 403 }, "forbidden", /HTTP 403/],
  ["409", { kind: "answer", status: 409 }, "duplicate", /HTTP 409/],
  ["408", { kind: "answer", status: 408 }, "transient", /HTTP 408/],
  ["422", { kind: "answer", status: 422 }, "invalid", /HTTP 422/],
  ["500", { kind: "answer", status: 500 }, "transient", /HTTP 500/],
  ["503", { kind: "answer", status: 503 }, "transient", /HTTP 503/],
  [
    "a refusal of the API server on the way",
    {
      kind: "answer",
      status: 403,
      body: { kind: "Status", apiVersion: "v1", reason: "Forbidden", message: "no services/proxy" },
    },
    "transient",
    /rejected by an intermediary, not by coderd \(HTTP 403 Forbidden\)/,
  ],
];

describe("an answer", () => {
  it.each(cases)("that is %s becomes a failure that says so", async (_, fault, kind, message) => {
    deployment.faults.inject({ fault });
    const failure = await entitlementsFailure();
    expect(failure).toMatchObject({ kind, message: expect.stringMatching(message) });
    expect(failure.message).toContain(`GET /api/v2/entitlements at ${server.url}`);
  });

  it("that does not come within 10 s is given up, before or in the middle of the body", async () => {
    for (const midBody of [false, true]) {
      deployment.faults.inject({ fault: { kind: "stall", midBody }, times: 1 });
      const before = deployment.count();
      const pending = entitlementsFailure();
      while (deployment.count() === before) await settle();
      await settle();
      await clock.advance(9_999);
      await clock.advance(1);
      expect((await pending).message).toContain("no complete response within 10 s");
    }
  });

  it("larger than 2 MiB is not read to its end", async () => {
    const body = { message: "x".repeat(3 * 1024 * 1024) };
    deployment.faults.inject({ fault: { kind: "answer", status: 200, body } });
    expect((await entitlementsFailure()).message).toContain("larger than 2 MiB");
  });

  it("with too many values is not parsed", async () => {
    deployment.faults.inject({ fault: { kind: "answer", status: 200, body: Array(20_001).fill(0) } });
    expect((await entitlementsFailure()).message).toContain("more than 20000 values");
  });

  it("with a version that is too long is not a response of coderd", async () => {
    const body = { version: "v".repeat(129), deployment_id: "x" };
    deployment.faults.inject({ fault: { kind: "answer", status: 200, body } });
    const result = await clients.client({ url: server.url }).buildInfo();
    expect(result).toMatchObject({ ok: false, failure: { kind: "transient" } });
    expect(JSON.stringify(result)).toContain(".version is longer than 128 characters");
  });

  it("that redirects within the host is followed", async () => {
    const to = "/api/v2/entitlements";
    deployment.faults.inject({ fault: { kind: "redirect", to }, times: 2 });
    const result = await clients.client({ url: server.url }).entitlements();
    expect(result.ok).toBe(true);
    expect(deployment.count(`GET ${to}`)).toBe(3);
  });

  it("that redirects a write is not followed: it might be done twice", async () => {
    deployment.faults.inject({ fault: { kind: "redirectLoop" } });
    const result = await clients.client({ url: server.url, token: TOKEN }).addLicense(JWT);
    expect(result).toMatchObject({ ok: false, failure: { kind: "transient" } });
    expect(deployment.count()).toBe(1);
  });

  it("never shows request data that coderd quotes", async () => {
    const quoting = `cannot use ${TOKEN} nor ${JWT} nor postgres://u:${TOKEN}@db/coder`;
    const body = { message: quoting, detail: quoting, validations: [{ field: "license", detail: quoting }] };
    for (const status of [400, 401, 403, 404, 409, 422, 429, 500, 503]) {
      deployment.faults.inject({ fault: { kind: "answer", status, body }, times: 1 });
      const result = await clients.client({ url: server.url, token: TOKEN }).addLicense(JWT);
      const shown = JSON.stringify(result);
      expect(result.ok).toBe(false);
      expect(shown).not.toContain("sekret");
      expect(shown).not.toContain("eyJ");
    }
  });
});

describe("no connection", () => {
  it("is distinguished: refused, unknown host, not HTTP", async () => {
    const closed = await startCoderdServer();
    await closed.close();
    expect((await entitlementsFailure({ url: closed.url })).message).toContain("connection refused");
    expect((await entitlementsFailure({ url: "http://coder.invalid" })).message).toMatch(
      /does not resolve|DNS lookup of the host name failed/,
    );
    const chatty = createServer((socket) => socket.end("SSH-2.0-OpenSSH_9.9\r\n")).listen(0, "127.0.0.1");
    await new Promise((resolve) => chatty.once("listening", resolve));
    const { port } = chatty.address() as { port: number };
    expect((await entitlementsFailure({ url: `http://127.0.0.1:${port}` })).message).toContain(
      "does not speak HTTP",
    );
    chatty.close();
  });
});

describe("a coderd that serves TLS", () => {
  const ca = createCertificateAuthority();
  const past = { from: new Date(0), to: new Date(1_000) };

  async function serve(certificate: { cert: string; key: string }): Promise<CoderdServer> {
    const tls = await startCoderdServer({ tls: certificate });
    tls.add();
    return tls;
  }

  it("is verified with the system's certificates if the given ones do not match, and each write is sent once", async () => {
    const tls = await startCoderdServer({ tls: ca.issue(["127.0.0.1"]) });
    const accounts = new StaticAccounts();
    accounts.add(TOKEN, { owner: true });
    const deployed = tls.add({ accounts });
    setDefaultCACertificates([...getCACertificates("default"), ca.cert]);
    const other = createCertificateAuthority("Other").cert;
    const coder = clients.client({ url: tls.url, token: TOKEN, ca: other });
    const results = await Promise.all(Array.from({ length: 20 }, () => coder.addLicense(fakeLicense())));
    expect(results.map(({ ok }) => ok)).not.toContain(false);
    expect(deployed.licenses).toHaveLength(20);
    expect(deployed.count()).toBe(20);
    setDefaultCACertificates(getCACertificates("bundled"));
    await tls.close();
  });

  it("is reached with its CA, besides those of the system", async () => {
    const tls = await serve(ca.issue(["127.0.0.1"]));
    const result = await clients.client({ url: tls.url, ca: ca.cert }).entitlements();
    expect(result.ok).toBe(true);
    await tls.close();
  });

  it("is checked against the name in its URL, regardless of the address", async () => {
    const tls = await serve(ca.issue(["coder.prod.svc.cluster.local"]));
    const routed = new CoderClients({ clock, fence: unfenced, route: fixedAddress(tls.url) });
    const target = { url: "https://coder.prod.svc.cluster.local", ca: ca.cert };
    expect((await routed.client(target).entitlements()).ok).toBe(true);
    await routed.close();
    await tls.close();
  });

  it("is checked by the host of its access URL where that is given, and asked for it, at the address of its URL", async () => {
    const tls = await startCoderdServer({ tls: ca.issue(["coder.example.com"]) });
    tls.add({ redirectsTo: "https://coder.example.com:8443" });
    const target = { url: tls.url, ca: ca.cert };
    const asked = (accessHost: string) => clients.client({ ...target, accessHost }).buildInfo();
    expect(await asked("coder.example.com:8443")).toMatchObject({ ok: true });
    expect(await asked("coder.example.com")).toMatchObject({
      failure: {
        message: expect.stringContaining("redirects to another host, https://coder.example.com:8443"),
      },
    });
    expect(await asked("other.example.com")).toMatchObject({
      failure: { message: expect.stringContaining("for a different host name") },
    });
    await tls.close();
  });

  it.each([
    ["without its CA", ca.issue(["127.0.0.1"]), undefined, /its CA is not trusted/],
    ["with another CA", ca.issue(["127.0.0.1"]), createCertificateAuthority("Other").cert, /TLS failed/],
    ["for another host", ca.issue(["coder.example"]), ca.cert, /certificate is for a different host name/],
    ["that has expired", ca.issue(["127.0.0.1"], past), ca.cert, /certificate has expired/],
  ])("is refused %s", async (_, certificate, trusted, message) => {
    const tls = await serve(certificate);
    const failure = await entitlementsFailure({ url: tls.url, ca: trusted });
    expect(failure).toMatchObject({ kind: "transient", message: expect.stringMatching(message) });
    await tls.close();
  });

  it("is distinguished from one that does not", async () => {
    const failure = await entitlementsFailure({ url: server.url.replace("http:", "https:") });
    expect(failure.message).toContain("TLS failed");
  });

  it("is not reached with a CA that is not PEM", async () => {
    const nonsense = "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n";
    const failure = await entitlementsFailure({ url: "https://127.0.0.1:1", ca: nonsense });
    expect(failure.message).toContain("not valid PEM");
  });
});

describe("a route", () => {
  it("may use a proxy with its own path and credentials", async () => {
    const pathPrefix = "/proxied";
    const proxied = server.add({ accounts: deployment.accounts }, { pathPrefix });
    const asked: string[] = [];
    const routed = new CoderClients({
      fence: unfenced,
      clock,
      route: async (coderd) => {
        asked.push(coderd.host);
        return { origin: server.url, pathPrefix, headers: { authorization: "Bearer proxy" } };
      },
    });
    const url = "http://coder.prod.svc.cluster.local";
    const result = await routed.client({ url, token: TOKEN }).currentUser();
    expect(result).toMatchObject({ ok: true, value: { username: "testuser" } });
    expect(proxied.count("GET /api/v2/users/me")).toBe(1);
    expect(asked).toEqual(["coder.prod.svc.cluster.local"]);
    await routed.close();
  });

  it("with separate connections also has a limit of 8 concurrent requests per coderd", async () => {
    const dispatcher = new Agent();
    const route = () => ({ origin: server.url, pathPrefix: "", headers: {}, dispatcher });
    const routed = new CoderClients({ clock, fence: unfenced, route });
    deployment.faults.inject({ fault: { kind: "stall" } });
    const requests = ["http://a", "http://b"].flatMap((url) =>
      Array.from({ length: 10 }, () => routed.client({ url }).buildInfo()),
    );
    while (deployment.count() < 16) await settle();
    for (let round = 0; round < 20; round++) await settle();
    expect(deployment.count()).toBe(16);
    await dispatcher.destroy();
    await clock.advance(10_000);
    expect((await Promise.all(requests)).every(({ ok }) => !ok)).toBe(true);
    await routed.close();
  });

  it("to a fixed address keeps the host, so that one address may serve many", async () => {
    const host = "coder.prod.svc.cluster.local";
    const hosted = server.add({}, { host });
    const routed = new CoderClients({ clock, fence: unfenced, route: fixedAddress(server.url) });
    expect((await routed.client({ url: `http://${host}:8080` }).buildInfo()).ok).toBe(true);
    expect(hosted.count()).toBe(1);
    await routed.close();
  });
});
