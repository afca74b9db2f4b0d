import { VirtualClock } from "kube-controller-runtime/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { StaticAccounts } from "./accounts.ts";
import { CoderdDeployment, type DeploymentOptions } from "./deployment.ts";
import { fakeLicense } from "./licenses.ts";
import { type CoderdServer, startCoderdServer } from "./server.ts";

const HOUR_MS = 60 * 60 * 1_000;
const OWNER = { "Coder-Session-Token": "owner" };

function accounts(): StaticAccounts {
  const known = new StaticAccounts();
  known.add("owner", { owner: true });
  return known;
}

describe("simulated licenses", () => {
  function entitlement(options: Parameters<typeof fakeLicense>[0], feature = "custom_roles") {
    const deployment = new CoderdDeployment();
    deployment.addLicense(fakeLicense(options));
    const { features, has_license: licensed, trial } = deployment.entitlements();
    return [features[feature]?.entitlement, licensed, trial];
  }

  it.each([
    ["premium", {}, ["entitled", true, false]],
    ["enterprise", { featureSet: "enterprise" }, ["not_entitled", true, false]],
    ["trial", { trial: true }, ["entitled", true, true]],
    ["in grace", { expiresInMs: -HOUR_MS, graceMs: 2 * HOUR_MS }, ["grace_period", true, false]],
    ["expired", { expiresInMs: -2 * HOUR_MS, graceMs: HOUR_MS }, ["not_entitled", false, false]],
  ] as const)("that are %s allow what such a license allows", (_, options, expected) => {
    expect(entitlement(options)).toEqual(expected);
  });

  it("lapse as time goes by", async () => {
    const clock = new VirtualClock();
    const deployment = new CoderdDeployment({ now: () => clock.now() });
    deployment.addLicense(fakeLicense({ now: clock.now(), expiresInMs: HOUR_MS }));
    expect(deployment.allows("external_provisioner_daemons")).toBe(true);
    await clock.advance(2 * HOUR_MS);
    expect(deployment.allows("external_provisioner_daemons")).toBe(false);
  });
});

describe("simulated daemons", () => {
  it("get in with a key that exists, and vanish with it", () => {
    const deployment = new CoderdDeployment();
    const key = deployment.createKey(deployment.organizations[0]?.id ?? "", "Pool", {});
    expect(deployment.connectDaemon("pod-1", key.plaintext)?.key.name).toBe("pool");
    expect(deployment.connectDaemon("pod-2", "another")).toBeUndefined();
    deployment.deleteKey(key);
    expect(deployment.daemons).toEqual([]);
  });
});

describe("a simulated coderd", () => {
  let server: CoderdServer;

  beforeEach(async () => {
    server = await startCoderdServer();
  });
  afterEach(() => server.close());

  const add = (options: DeploymentOptions = {}) => server.add({ accounts: accounts(), ...options });
  const get = (path: string) => fetch(server.url + path, { headers: OWNER });
  const upload = () =>
    fetch(`${server.url}/api/v2/licenses`, {
      method: "POST",
      headers: OWNER,
      body: JSON.stringify({ license: fakeLicense() }),
    });

  it("is found by host, by path, or as the one for everything else", async () => {
    const byPath = server.add({}, { pathPrefix: "/one" });
    const rest = add();
    await get("/one/api/v2/buildinfo");
    await get("/api/v2/buildinfo");
    expect([byPath.count(), rest.count()]).toEqual([1, 1]);
    expect(byPath.calls[0]?.request).toBe("GET /api/v2/buildinfo");
  });

  it("counts calls by route", async () => {
    const deployment = add();
    await get("/api/v2/organizations");
    await get("/api/v2/organizations/default");
    expect(deployment.count("GET /api/v2/organizations")).toBe(1);
    expect(deployment.count(/organizations/)).toBe(2);
  });

  it("shows a fault on the requests it is meant for, then answers as usual", async () => {
    const deployment = add();
    const fault = { kind: "answer", status: 503 } as const;
    deployment.faults.inject({ fault, on: "GET /api/v2/users/me", after: 1, times: 2 });
    const statuses: number[] = [];
    for (let request = 0; request < 4; request++) statuses.push((await get("/api/v2/users/me")).status);
    expect(statuses).toEqual([200, 503, 503, 200]);
    expect((await get("/api/v2/organizations")).status).toBe(200);
  });

  it("can lose the answer after the request took effect, or before", async () => {
    const deployment = add();
    deployment.faults.inject({ fault: { kind: "cut" }, times: 1 });
    await expect(upload()).rejects.toThrow();
    expect(deployment.licenses).toHaveLength(0);
    deployment.faults.inject({ fault: { kind: "cut" }, times: 1, afterEffect: true });
    await expect(upload()).rejects.toThrow();
    expect(deployment.licenses).toHaveLength(1);
  });

  it("can be slow", async () => {
    add().faults.inject({ fault: { kind: "latency", ms: 50 } });
    const start = performance.now();
    expect((await get("/healthz")).status).toBe(200);
    expect(performance.now() - start).toBeGreaterThanOrEqual(45);
  });

  it("stops knowing a token that is taken away", async () => {
    const known = accounts();
    add({ accounts: known });
    expect((await get("/api/v2/users/me")).status).toBe(200);
    known.remove("owner");
    expect((await get("/api/v2/users/me")).status).toBe(401);
  });
});
