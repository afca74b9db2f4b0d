import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Kind, ObjectRef, Pod, Service } from "kube-controller-runtime";
import { stubClient } from "kube-controller-runtime/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LocalServices } from "./local-services.ts";

let backend: Server;
let services: LocalServices;
let ready: boolean;

beforeEach(async () => {
  ready = true;
  backend = createServer((request, response) => response.end(`served ${request.url}`));
  await new Promise<void>((resolve) => backend.listen(0, "127.0.0.1", resolve));
  services = new LocalServices(stubClient({ get: async () => aService(), list: listPods }));
});
afterEach(async () => {
  await services[Symbol.asyncDispose]();
  backend.closeAllConnections();
  backend.close();
});

const aService = (): Service => ({
  spec: { selector: { app: "coder", tier: "web" }, ports: [{ port: 80, targetPort: "http" }] },
});

async function listPods(_kind: Kind<Pod>, { labelSelector }: { labelSelector: string } & ObjectRef) {
  const { port } = backend.address() as AddressInfo;
  const pod: Pod = {
    metadata: { name: "coder-1" },
    spec: { containers: [{ name: "coder", ports: [{ name: "http", containerPort: port }] }] },
    status: { podIP: "127.0.0.1", conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
  };
  return { items: labelSelector === "app=coder,tier=web" ? [pod] : [] };
}

test("the URL of a Service leads to a ready pod of it, with or without the default port", async () => {
  const url = await services.translate("http://coder.dev.svc.cluster.local/healthz");
  expect(await (await fetch(url)).text()).toBe("served /healthz");
  expect(await services.translate("http://coder.dev.svc.cluster.local:80/healthz")).toBe(url);
});

test("a Service without a ready pod refuses connections", async () => {
  ready = false;
  await expect(fetch(await services.translate("http://coder.dev.svc.cluster.local"))).rejects.toThrow();
});

test("other URLs stay as they are", async () => {
  expect(await services.translate("https://coder.example.com,postgres://db.dev.svc.cluster.local")).toBe(
    "https://coder.example.com,postgres://db.dev.svc.cluster.local",
  );
});
