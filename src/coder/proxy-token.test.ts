import { unfenced, VirtualClock } from "kube-controller-runtime/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { StaticAccounts } from "../../lab/coderd/accounts.ts";
import type { CoderdDeployment } from "../../lab/coderd/deployment.ts";
import type { Fault } from "../../lab/coderd/faults.ts";
import { fakeLicense } from "../../lab/coderd/licenses.ts";
import { type CoderdServer, startCoderdServer } from "../../lab/coderd/server.ts";
import type { CoderClient } from "./client.ts";
import { CoderClients } from "./clients.ts";
import { proxyOfToken } from "./proxy-token.ts";

const OWNER = "ownerowner-ownerownerownerowner12";
const id = "8e0e4710-5c76-4ad1-b588-4ff9bea5998d";
const secret = "5".repeat(64);

test.each([
  ["a token", `${id}:${secret}`, id],
  ["one in upper case", `${id.toUpperCase()}:${secret}`, id],
  ["a session token", OWNER, undefined],
  ["no secret", `${id}:`, undefined],
  ["two lines", `${id}:${secret}\n${secret}`, undefined],
  ["nothing", "", undefined],
])("the proxy of %s", (_case, token, expected) => {
  expect(proxyOfToken(token)).toBe(expected);
});

describe("a registered proxy", () => {
  const clients = new CoderClients({ fence: unfenced, clock: new VirtualClock(Date.now()) });
  let server: CoderdServer;
  let deployment: CoderdDeployment;
  let coder: CoderClient;
  let token: string;

  beforeEach(async () => {
    server = await startCoderdServer();
    const accounts = new StaticAccounts();
    accounts.add(OWNER, { owner: true });
    deployment = server.add({ accounts });
    deployment.addLicense(fakeLicense());
    coder = clients.client({ url: server.url, token: OWNER });
    const made = await coder.createWorkspaceProxy({ name: "sydney", displayName: "Sydney", icon: "" });
    token = made.ok ? made.value.token : "";
  });

  afterEach(async () => {
    await clients.close();
    await server.close();
  });

  const accepted = async (proxyToken: string) => {
    const answer = await coder.acceptsProxyToken(proxyToken);
    return answer.ok ? answer.value : answer.failure.kind;
  };

  test("is accepted with its token, and not with another", async () => {
    expect(await accepted(token)).toBe(true);
    expect(await accepted(`${proxyOfToken(token)}:${secret}`)).toBe(false);
    expect(await accepted(`${id}:${secret}`)).toBe(false);
  });

  test("is rejected with a replaced token", async () => {
    await coder.regenerateProxyToken(proxyOfToken(token) ?? "", {
      name: "sydney",
      displayName: "",
      icon: "",
    });
    expect(await accepted(token)).toBe(false);
  });

  test("is accepted by a coderd that does not know the requested route", async () => {
    const body = { message: "Route not found." };
    deployment.faults.inject({ fault: { kind: "answer", status: 404, body }, on: /crypto-keys/ });
    expect(await accepted(token)).toBe(true);
  });

  test("is rejected without a request if it is not a valid token", async () => {
    const before = deployment.count();
    expect(await accepted("two\nlines")).toBe(false);
    expect(deployment.count()).toBe(before);
  });

  test.each<[string, Fault, string]>([
    ["too many requests", { kind: "rateLimited" }, "rateLimited"],
    ["a cut connection", { kind: "cut" }, "transient"],
    ["HTML", { kind: "html", status: 401 }, "transient"],
    ["a missing license", premium(), "notEntitled"],
  ])("does not show its token with %s", async (_case, fault, kind) => {
    deployment.faults.inject({ fault, on: /crypto-keys/ });
    expect(await accepted(token)).toBe(kind);
  });

  test("is renamed without a new token", async () => {
    await coder.updateWorkspaceProxy(proxyOfToken(token) ?? "", { name: "au", displayName: "", icon: "" });
    expect(deployment.proxies).toMatchObject([{ name: "au", displayName: "au", icon: "/emojis/1f310.png" }]);
    expect(await accepted(token)).toBe(true);
  });
});

function premium(): Fault {
  return {
    kind: "answer",
    status: 403,
    body: { message: "Workspace Proxy is a Premium feature. Contact sales!" },
  };
}
