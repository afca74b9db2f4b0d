import { afterEach, beforeEach, expect, it } from "vitest";
import { VirtualClock } from "../../../test/support/clock.ts";
import { StaticAccounts } from "../../../test/support/coderd/accounts.ts";
import type { CoderdDeployment } from "../../../test/support/coderd/deployment.ts";
import { fakeLicense } from "../../../test/support/coderd/licenses.ts";
import { type CoderdServer, startCoderdServer } from "../../../test/support/coderd/server.ts";
import { unfenced } from "../../../test/support/unfenced.ts";
import type { CoderClient } from "../../coder/client.ts";
import { CoderClients } from "../../coder/clients.ts";
import { Hearsay } from "./hearsay.ts";

const TOKEN = "ownerowner-ownerownerownerowner12";
const DAY_MS = 24 * 60 * 60 * 1_000;

let server: CoderdServer;
let deployment: CoderdDeployment;
let clients: CoderClients;
let coder: CoderClient;
let hearsay: Hearsay;
const clock = new VirtualClock(Date.now());

beforeEach(async () => {
  server = await startCoderdServer();
  const accounts = new StaticAccounts();
  accounts.add(TOKEN, { owner: true });
  deployment = server.add({ accounts });
  hearsay = new Hearsay();
  clients = new CoderClients({ fence: unfenced, clock, observer: hearsay });
  coder = clients.client({ url: server.url, token: TOKEN });
});
afterEach(async () => {
  await clients.close();
  await server.close();
});

function licenseFor(days: number): string {
  return fakeLicense({ expiresInMs: days * DAY_MS, now: clock.now() });
}

function daysLeft(): number | undefined {
  const expiry = hearsay.licenseExpiry(server.url);
  return expiry && Math.round((expiry * 1_000 - clock.now()) / DAY_MS);
}

it("knows the end of a licence from the answer to its upload, before any list", async () => {
  await coder.addLicense(licenseFor(30));
  expect(daysLeft()).toBe(30);
});

it("takes the licence that ends last, since coderd heeds them all", async () => {
  for (const days of [-10, 90, 30]) deployment.addLicense(licenseFor(days));
  await coder.licenses();
  expect(daysLeft()).toBe(90);
  await coder.addLicense(licenseFor(60));
  expect(daysLeft()).toBe(90);
});

it("forgets a licence that coderd no longer lists", async () => {
  await coder.addLicense(licenseFor(30));
  deployment.licenses.splice(0);
  await coder.licenses();
  expect(daysLeft()).toBeUndefined();
});

it("keeps what it knew when coderd can't be asked", async () => {
  await coder.addLicense(licenseFor(30));
  deployment.faults.inject({ fault: { kind: "html" }, on: "GET /api/v2/licenses", times: 1 });
  expect((await coder.licenses()).ok).toBe(false);
  expect(daysLeft()).toBe(30);
});

it("knows when a provisioner key was made, until nobody uses it", async () => {
  deployment.addLicense(licenseFor(30));
  const organization = await coder.organization("default");
  if (!organization.ok) throw new Error(organization.failure.message);
  const { id } = organization.value;
  await coder.createProvisionerKey(id, { name: "pool", tags: {} });
  await coder.provisionerKeys(id);
  const [key] = deployment.keys;
  expect(hearsay.keyCreation(key?.id ?? "")).toBe(Date.parse(key?.created_at ?? "") / 1_000);
  hearsay.forget([key?.id ?? ""]);
  expect(hearsay.keyCreation(key?.id ?? "")).toBeUndefined();
});
