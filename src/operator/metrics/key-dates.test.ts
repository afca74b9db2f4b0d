import { unfenced, VirtualClock } from "kube-controller-runtime/testing";
import { afterEach, beforeEach, expect, it } from "vitest";
import { StaticAccounts } from "../../../lab/coderd/accounts.ts";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import { fakeLicense } from "../../../lab/coderd/licenses.ts";
import { type CoderdServer, startCoderdServer } from "../../../lab/coderd/server.ts";
import type { CoderClient } from "../../coder/client.ts";
import { CoderClients } from "../../coder/clients.ts";
import { CoderdDates } from "./key-dates.ts";

const TOKEN = "ownerowner-ownerownerownerowner12";

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

it("knows when a provisioner key was created, until its coderd is no longer used", async () => {
  deployment.addLicense(fakeLicense());
  const organization = await coder.organization("default");
  if (!organization.ok) throw new Error(organization.failure.message);
  const { id } = organization.value;
  await coder.createProvisionerKey(id, { name: "pool", tags: {} });
  await coder.provisionerKeys(id);
  const [key] = deployment.keys;
  expect(dates.keyCreation(server.url, key?.id ?? "")).toBe(Date.parse(key?.created_at ?? "") / 1_000);
  expect(dates.keyCreation("http://another", key?.id ?? "")).toBeUndefined();
  dates.forget(server.url);
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
