import { LeaderFence, NotLeaderError } from "kube-controller-runtime";
import { settle, unfenced, VirtualClock } from "kube-controller-runtime/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { StaticAccounts } from "../../lab/coderd/accounts.ts";
import type { CoderdDeployment, DeploymentOptions } from "../../lab/coderd/deployment.ts";
import { fakeLicense } from "../../lab/coderd/licenses.ts";
import { type CoderdServer, startCoderdServer } from "../../lab/coderd/server.ts";
import { failure, success } from "../../test/support/results.ts";
import type { CoderClient } from "./client.ts";
import { CoderClients } from "./clients.ts";

const OWNER = "ownerowner-ownerownerownerowner12";
const MEMBER = "membermemb-membermembermembermem1";

let clock: VirtualClock;
let clients: CoderClients;
let server: CoderdServer;
let deployment: CoderdDeployment;

async function start(options: DeploymentOptions = {}): Promise<CoderClient> {
  const accounts = new StaticAccounts();
  accounts.add(OWNER, { owner: true });
  accounts.add(MEMBER, { owner: false });
  deployment = server.add({ accounts, ...options });
  return clients.client({ url: server.url, token: OWNER });
}

beforeEach(async () => {
  clock = new VirtualClock(Date.now());
  clients = new CoderClients({ clock, fence: unfenced });
  server = await startCoderdServer();
});

afterEach(async () => {
  await clients.close();
  await server.close();
});

function leadership() {
  const fence = new LeaderFence();
  let leads = true;
  fence.open(() => leads);
  const loseUnnoticed = () => {
    leads = false;
  };
  return { fence, loseUnnoticed, lose: () => fence.close(new NotLeaderError("lost")) };
}

/** Lets real sockets make progress until `condition` holds. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await settle();
}

describe("a licensed coderd", () => {
  let coder: CoderClient;
  let organizationId: string;

  beforeEach(async () => {
    coder = await start();
    deployment.addLicense(fakeLicense());
    organizationId = success(await coder.organization("default")).id;
  });

  it("says who it is and whose the token is", async () => {
    expect(success(await coder.buildInfo())).toEqual({ version: "v2.36.1" });
    expect(success(await coder.currentUser())).toMatchObject({ username: "testuser", roles: ["owner"] });
  });

  it("knows the default organization by alias and by name, with the same id", async () => {
    const [only] = success(await coder.organizations());
    expect(only).toEqual({ id: organizationId });
    expect(success(await coder.organization("coder")).id).toBe(organizationId);
    expect(failure(await coder.organization("nope")).kind).toBe("notFound");
  });

  it("makes, lists and deletes provisioner keys, and refuses a name twice", async () => {
    const tags = { env: "prod" };
    const key = success(await coder.createProvisionerKey(organizationId, { name: "pool-a", tags }));
    expect(deployment.acceptedKey(key)?.name).toBe("pool-a");
    const again = await coder.createProvisionerKey(organizationId, { name: "Pool-A", tags: {} });
    expect(failure(again).kind).toBe("duplicate");
    const [listed] = success(await coder.provisionerKeys(organizationId));
    expect(listed).toMatchObject({ name: "pool-a", tags });
    success(await coder.deleteProvisionerKey(organizationId, "pool-a"));
    expect(failure(await coder.deleteProvisionerKey(organizationId, "pool-a")).kind).toBe("notFound");
  });

  it("says which field of a key it rejects", async () => {
    const result = await coder.createProvisionerKey(organizationId, { name: "a".repeat(65), tags: {} });
    expect(failure(result)).toMatchObject({
      kind: "invalid",
      message: expect.stringContaining("name: Name must be at most 64 characters"),
    });
  });

  it("takes a license once", async () => {
    const jwt = fakeLicense({ featureSet: "enterprise" });
    const added = success(await coder.addLicense(jwt));
    expect(added.term?.expires).toBeGreaterThan(clock.now());
    expect(failure(await coder.addLicense(jwt)).kind).toBe("duplicate");
    expect(success(await coder.licenses())).toHaveLength(2);
    expect(failure(await coder.addLicense("not-a-jwt")).kind).toBe("invalid");
  });

  it("registers a proxy, gives it a new token and forgets it", async () => {
    const registration = { name: "eu", displayName: "", icon: "" };
    const { proxy, token } = success(await coder.createWorkspaceProxy(registration));
    expect(proxy).toMatchObject({ name: "eu", status: "unregistered", errors: [] });
    const renewed = success(await coder.regenerateProxyToken(proxy.id, registration));
    expect(deployment.acceptedProxy(renewed.token)?.id).toBe(proxy.id);
    expect(deployment.acceptedProxy(token)).toBeUndefined();
    expect(failure(await coder.createWorkspaceProxy(registration)).kind).toBe("duplicate");
    expect(success(await coder.workspaceProxies()).map(({ name }) => name)).toEqual(["primary", "eu"]);
    success(await coder.deleteWorkspaceProxy("eu"));
    expect(failure(await coder.workspaceProxy("eu")).kind).toBe("notFound");
  });

  it("distinguishes a refused token from one without the right, also where coderd calls that an internal error", async () => {
    const stranger = clients.client({ url: server.url, token: "strangerst-strangerstrangerstrang" });
    expect(failure(await stranger.currentUser())).toMatchObject({
      kind: "forbidden",
      why: "unauthenticated",
    });
    const member = clients.client({ url: server.url, token: MEMBER });
    const attempts = [
      await member.createProvisionerKey(organizationId, { name: "m", tags: {} }),
      await member.addLicense(fakeLicense()),
      await member.createWorkspaceProxy({ name: "m", displayName: "", icon: "" }),
    ];
    for (const attempt of attempts) {
      const why = failure(attempt);
      expect(why).toMatchObject({ kind: "forbidden", why: "notPermitted" });
      expect(why.message.length).toBeLessThan(300);
    }
  });
});

describe("a coderd without a license", () => {
  it("has an empty list of licenses and refuses licensed features as not entitled", async () => {
    const coder = await start();
    expect(success(await coder.licenses())).toEqual([]);
    expect(success(await coder.entitlements())).toMatchObject({ hasLicense: false });
    const organizationId = success(await coder.organization("default")).id;
    expect(failure(await coder.provisionerKeys(organizationId)).kind).toBe("notEntitled");
    expect(failure(await coder.workspaceProxies()).kind).toBe("notEntitled");
  });
});

describe("an open-source coderd", () => {
  it("is recognized by its missing routes", async () => {
    const coder = await start({ openSource: true });
    expect(failure(await coder.licenses()).kind).toBe("unsupported");
    expect(failure(await coder.addLicense(fakeLicense())).kind).toBe("unsupported");
  });
});

describe("a rate-limited coderd", () => {
  it("exempts an owner's token from the limit", async () => {
    const coder = await start({ requestsPerMinute: 1 });
    for (let request = 0; request < 5; request++) success(await coder.currentUser());
  });

  it("is requested without the bypass once it has rejected it for a token", async () => {
    await start({ requestsPerMinute: 100 });
    const member = clients.client({ url: server.url, token: MEMBER });
    success(await member.currentUser());
    expect(deployment.count()).toBe(2);
    success(await clients.client({ url: server.url, token: MEMBER }).currentUser());
    expect(deployment.count()).toBe(3);
  });

  it("says how long to wait", async () => {
    await start({ requestsPerMinute: 2 });
    const member = clients.client({ url: server.url, token: MEMBER });
    await member.currentUser();
    expect(failure(await member.currentUser())).toMatchObject({
      kind: "rateLimited",
      retryAfterMs: 60_000,
    });
  });
});

describe("a target", () => {
  it("may have blanks around its token", async () => {
    await start();
    const coder = clients.client({ url: server.url, token: `${OWNER}\n` });
    expect(success(await coder.currentUser()).username).toBe("testuser");
  });

  it.each([
    [
      "a token that can't be sent",
      () => ({ url: server.url, token: "sek\nret" }),
      /token may contain invalid characters/,
    ],
    ["no URL", () => ({ url: "coder" }), /not a valid http:\/\/ or https:\/\/ URL/],
    ["a URL of another kind", () => ({ url: "ftp://u:sekret@coder" }), /not a valid http/],
  ])("with %s fails every call and shows nothing of it", async (_, target, message) => {
    await start();
    const why = failure(await clients.client(target()).entitlements());
    expect(why).toMatchObject({ kind: "transient", message: expect.stringMatching(message) });
    expect(why.message).not.toContain("sek");
  });
});

describe("connections", () => {
  it("are limited to 8 at once for each coderd, and one that stalls does not hold up another", async () => {
    const stalled = await start();
    deployment.faults.inject({ fault: { kind: "stall" } });
    const requests = Array.from({ length: 20 }, () => stalled.buildInfo());
    await until(() => deployment.count() === 8);
    await settle();
    expect(deployment.count()).toBe(8);

    const other = await startCoderdServer();
    other.add();
    success(await clients.client({ url: other.url }).buildInfo());
    await other.close();

    await clock.advance(10_000);
    const failures = (await Promise.all(requests)).map(failure);
    expect(failures).toHaveLength(20);
    for (const { message } of failures) expect(message).toContain("no complete response within 10 s");
  });

  it("of a coderd are closed after a minute without requests", async () => {
    const coder = await start();
    success(await coder.buildInfo());
    await clock.advance(59_000);
    success(await coder.buildInfo());
    await clock.advance(59_000);
    expect(clients.open).toBe(1);
    await clock.advance(1_000);
    expect(clients.open).toBe(0);
    expect(clock.pending).toBe(0);
    success(await coder.buildInfo());
  });

  it("carry no request that waited for its turn while leadership was lost, and are cut", async () => {
    const { fence, lose } = leadership();
    await start();
    const fenced = new CoderClients({ clock, fence });
    const coder = fenced.client({ url: server.url, token: OWNER });
    deployment.faults.inject({ fault: { kind: "stall" } });
    const requests = Array.from({ length: 20 }, () => coder.deleteProvisionerKey("o", "key"));
    await until(() => deployment.count() === 8);
    lose();
    const results = await Promise.allSettled([...requests, coder.deleteProvisionerKey("o", "key")]);
    for (const result of results)
      expect(result).toMatchObject({ status: "rejected", reason: expect.any(NotLeaderError) });
    await settle();
    expect(deployment.count()).toBe(8);
  });

  it("that are ready for a request carry none after leadership was lost unnoticed", async () => {
    const { fence, loseUnnoticed } = leadership();
    await start();
    const coder = new CoderClients({ clock, fence }).client({ url: server.url, token: OWNER });
    success(await coder.buildInfo());
    loseUnnoticed();
    await expect(coder.createProvisionerKey("o", { name: "k", tags: {} })).rejects.toThrow(NotLeaderError);
    expect(deployment.count()).toBe(1);
  });

  it("leave no timer behind when the clients are closed during a request", async () => {
    const coder = await start();
    deployment.faults.inject({ fault: { kind: "stall" } });
    const request = coder.buildInfo();
    await until(() => deployment.count() === 1);
    await clients.close();
    expect(failure(await request).kind).toBe("transient");
    expect(clock.pending).toBe(0);
  });
});
