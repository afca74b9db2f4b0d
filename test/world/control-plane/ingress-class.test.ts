import { CoreEvent, Ingress, IngressClass } from "kube-controller-runtime";
import { answers, when } from "kube-controller-runtime/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { OperatorOptions } from "../../../lab/operator.ts";
import { CoderWorkspaceProxy } from "../../../src/api/v1alpha1/kinds.ts";
import { type ControlPlaneStage, openControlPlaneStage } from "./stage.ts";

const ingress = { host: "coder.example.com", className: "nginx" };
const missing = { status: "False", reason: "IngressClassMissing" } as const;

let stage: ControlPlaneStage;
beforeEach(async () => {
  stage = await openControlPlaneStage("ingress-class", { operator: false });
});
afterEach(() => stage[Symbol.asyncDispose]());

/** One that is kept to some namespaces has no right to read what belongs to none. */
const start = (options: OperatorOptions = {}) => stage.startOperator({ namespaces: [], ...options });

const addClass = (name: string) =>
  stage.person.create(IngressClass, { metadata: { name }, spec: { controller: "example.com/ingress" } });

test("a class that does not exist is reported, with those that do, until it appears", async () => {
  await start();
  await stage.serve("coder", { expose: { ingress } });
  const { message } = await stage.untilCondition("coder", "ExposureReady", missing);
  expect(message).toBe(
    'IngressClass "nginx" does not exist, and the cluster has no IngressClass; install an ingress controller, or remove spec.expose.ingress.className.',
  );
  await stage.untilCondition("coder", "Ready", missing);
  await addClass("traefik");
  await addClass("internal");
  await stage.eventually(async () =>
    expect((await stage.untilCondition("coder", "ExposureReady", missing)).message).toBe(
      'IngressClass "nginx" does not exist; set spec.expose.ingress.className to "internal" or "traefik", or install its ingress controller.',
    ),
  );
  expect((await stage.get(Ingress, "coder")).spec?.ingressClassName).toBe("nginx");
  await addClass("nginx");
  await stage.untilCondition("coder", "ExposureReady", { status: "True" });
  await stage.untilCondition("coder", "Ready", { status: "True" });
  await stage.person.delete(IngressClass, { name: "nginx" });
  await stage.untilCondition("coder", "ExposureReady", missing);
  const { items } = await stage.person.list(CoreEvent, { namespace: stage.namespace });
  expect(items.filter(({ reason }) => reason === "IngressClassMissing")).toContainEqual(
    expect.objectContaining({ type: "Warning" }),
  );
});

test("an Ingress without a class is left to the cluster's default", async () => {
  await start();
  await stage.serve("coder", { expose: { ingress: { host: "coder.example.com" } } });
  await stage.untilCondition("coder", "ExposureReady", { status: "True" });
});

test("a workspace proxy reports it too", async () => {
  await start();
  await stage.person.create(CoderWorkspaceProxy, {
    metadata: { namespace: stage.namespace, name: "eu" },
    spec: {
      primaryAccessURL: "https://coder.example.com",
      proxySessionTokenSecretRef: { name: "token" },
      expose: { ingress },
    },
  });
  await stage.eventually(async () => {
    const ref = { namespace: stage.namespace, name: "eu" };
    const { status } = await stage.person.get(CoderWorkspaceProxy, ref);
    expect(status?.conditions).toContainEqual(expect.objectContaining({ type: "ExposureReady", ...missing }));
  });
});

test("an operator that may not read classes starts, and takes the spec's for granted", async () => {
  const fault = when(({ path }) => path.includes("/ingressclasses"), answers(403));
  await start({ fault });
  await stage.serve("coder", { expose: { ingress } });
  await stage.untilCondition("coder", "ExposureReady", { status: "True" });
  expect(stage.operator.log.filter(({ level }) => level === "warn")).toEqual([]);
});

test("an operator that is limited to namespaces does not request classes", async () => {
  await stage.startOperator();
  await stage.serve("coder", { expose: { ingress } });
  await stage.untilCondition("coder", "ExposureReady", { status: "True" });
  expect(stage.operator.transport.requests.map(({ path }) => path).join()).not.toContain("ingressclasses");
});
