import { unfenced, VirtualClock } from "kube-controller-runtime/testing";
import { afterEach, beforeEach, expect, it } from "vitest";
import { StaticAccounts } from "../../../lab/coderd/accounts.ts";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import { fakeLicense } from "../../../lab/coderd/licenses.ts";
import { type CoderdServer, startCoderdServer } from "../../../lab/coderd/server.ts";
import type { CoderClient } from "../../coder/client.ts";
import { CoderClients } from "../../coder/clients.ts";
import { CoderdDates } from "./coderd-dates.ts";

const TOKEN = "ownerowner-ownerownerownerowner12";
const DAY_MS = 24 * 60 * 60 * 1_000;

let server: CoderdServer;
let deployment: CoderdDeployment;
let clients: CoderClients;
let coder: CoderClient;
let dates: CoderdDates;
const clock = new VirtualClock(Date.now());

beforeEach(async () => {
  server = await startCoderdServer();
  const accounts = new StaticAccounts();
  accounts.add(TOKEN, { owner: true });
  deployment = server.add({ accounts });
  dates = new CoderdDates();
  clients = new CoderClients({ fence: unfenced, clock, observer: dates });
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
  const expiry = dates.licenseExpiry(server.url);
  return expiry && Math.round((expiry * 1_000 - clock.now()) / DAY_MS);
}

it("knows the end of a license from the answer to its upload, before any list", async () => {
  await coder.addLicense(licenseFor(30));
  expect(daysLeft()).toBe(30);
});

it("takes the license that ends last, since coderd heeds them all", async () => {
  for (const days of [-10, 90, 30]) deployment.addLicense(licenseFor(days));
  await coder.licenses();
  expect(daysLeft()).toBe(90);
  await coder.addLicense(licenseFor(60));
  expect(daysLeft()).toBe(90);
});

it("forgets a license that coderd no longer lists", async () => {
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

it("knows when a provisioner key was made, until nobody uses its coderd", async () => {
  deployment.addLicense(licenseFor(30));
  const organization = await coder.organization("default");
  if (!organization.ok) throw new Error(organization.failure.message);
  const { id } = organization.value;
  await coder.createProvisionerKey(id, { name: "pool", tags: {} });
  await coder.provisionerKeys(id);
  const [key] = deployment.keys;
  expect(dates.keyCreation(server.url, key?.id ?? "")).toBe(Date.parse(key?.created_at ?? "") / 1_000);
  expect(dates.keyCreation("http://another", key?.id ?? "")).toBeUndefined();
  dates.forget([server.url]);
  expect(dates.keyCreation(server.url, key?.id ?? "")).toBeUndefined();
});

it("does not grow with key ids that a coderd makes up, and keeps those that it listed last", () => {
  const key = (id: string) => ({
    id,
    name: "k",
    organizationId: "o",
    tags: {},
    createdAt: "2026-01-01T00:00:00Z",
  });
  for (let list = 0; list < 100; list++)
    dates.provisionerKeysListed(
      "http://evil",
      Array.from({ length: 100 }, (_, index) => key(`${list}-${index}`)),
    );
  expect(dates.size).toBe(1_000);
  expect(dates.keyCreation("http://evil", "99-99")).toBeDefined();
});
