import { Deployment, Secret, Service } from "kube-controller-runtime";
import { createCertificateAuthority } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import type { Route } from "../../../src/coder/http/route.ts";
import { openStage, type ProvisionerStage } from "../../support/stages/provisioner.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

const PUBLIC = "coder.example.com";
const CLUSTER_IP = "10.96.0.7";
const ca = createCertificateAuthority();

let stage: ProvisionerStage;
beforeAll(async () => {
  stage = await openStage(new MemoryWorld(), "addresses");
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const serviceOf = (name: string, domain = "cluster.local") => `${name}.${stage.namespace}.svc.${domain}`;

/** A control plane with TLS of its own, and whose access URL is not that of its Service. */
async function publish(name: string, certificate: { cert: string }, redirects = false) {
  const coderd = await stage.controlPlane(name, redirects ? { redirectsTo: `https://${PUBLIC}` } : {});
  await renew(name, certificate);
  const redirect = { name: "CODER_REDIRECT_TO_ACCESS_URL", value: "true" };
  const extraEnv = [
    { name: "CODER_ACCESS_URL", value: `https://${PUBLIC}` },
    ...(redirects ? [redirect] : []),
  ];
  await stage.person.mergePatch(CoderControlPlane, stage.ref(name), {
    spec: { tls: { secretNames: [`${name}-tls`] }, extraEnv },
  });
  await stage.person.mergePatch(Service, stage.ref(name), { spec: { clusterIP: CLUSTER_IP } });
  return coderd;
}

function renew(name: string, { cert }: { cert: string }): Promise<unknown> {
  return stage.putSecret(`${name}-tls`, { "tls.crt": cert });
}

async function dialled(name: string) {
  const { spec } = await stage.template(name);
  const url = spec?.containers[0]?.env?.find((variable) => variable.name === "CODER_URL")?.value;
  return { url, hostAliases: spec?.hostAliases };
}

const byName = { url: `https://${PUBLIC}`, hostAliases: [{ ip: CLUSTER_IP, hostnames: [PUBLIC] }] };

describe("daemons of a coderd whose certificate is for its access URL alone", () => {
  test("dial that URL, mapped to the Service, and keep their key when the certificate changes", async () => {
    const coderd = await publish("public", ca.issue([PUBLIC]));
    const before = await stage.serve("pool", { controlPlaneRef: { name: "public" } });
    expect(await dialled("pool")).toEqual(byName);
    await renew("public", ca.issue([PUBLIC, serviceOf("public")]));
    const direct = { url: `https://${serviceOf("public")}:443`, hostAliases: undefined };
    await stage.eventually(async () => expect(await dialled("pool")).toEqual(direct));
    await stage.rollOut("pool");
    const after = await stage.untilSettled("pool");
    expect(after.provisionerKeyID).toBe(before.provisionerKeyID);
    expect(coderd.keys).toHaveLength(1);
  });

  test("are kept while no others are known: without the Secret, and without the control plane", async () => {
    await publish("vanishing", ca.issue([PUBLIC]));
    await stage.serve("patient", {
      controlPlaneRef: { name: "vanishing" },
      image: "ghcr.io/coder/coder:own",
    });
    await stage.person.delete(Secret, stage.ref("vanishing-tls"));
    await stage.change("patient", { replicas: 2 });
    await stage.eventually(async () =>
      expect((await stage.get(Deployment, "provisioner-patient")).spec?.replicas).toBe(2),
    );
    expect(await dialled("patient")).toEqual(byName);
    await stage.person.delete(CoderControlPlane, stage.ref("vanishing"));
    await stage.change("patient", { replicas: 3 });
    await stage.eventually(async () =>
      expect((await stage.get(Deployment, "provisioner-patient")).spec?.replicas).toBe(3),
    );
    expect(await dialled("patient")).toEqual(byName);
  });
});

test("daemons follow the Service to another address", async () => {
  await publish("recreated", ca.issue([PUBLIC]));
  await stage.serve("follower", { controlPlaneRef: { name: "recreated" } });
  const before = await stage.get(Service, "recreated");
  const { uid: _, resourceVersion: _version, ...metadata } = before.metadata;
  await stage.person.delete(Service, stage.ref("recreated"));
  await stage.person.create(Service, {
    ...before,
    metadata,
    spec: { ...before.spec, clusterIP: "10.96.0.8" },
  });
  const hostAliases = [{ ip: "10.96.0.8", hostnames: [PUBLIC] }];
  await stage.eventually(async () => expect(await dialled("follower")).toEqual({ ...byName, hostAliases }));
});

test("daemons whose URL spec.extraEnv gives find it by DNS", async () => {
  await publish("overridden", ca.issue([PUBLIC]));
  const extraEnv = [{ name: "CODER_URL", value: `https://${PUBLIC}` }];
  await stage.serve("own-url", { controlPlaneRef: { name: "overridden" }, extraEnv });
  expect(await dialled("own-url")).toEqual({ url: `https://${PUBLIC}`, hostAliases: undefined });
});

test("daemons of a cluster of IPv6 are not replaced while their control plane is gone", async () => {
  await stage.controlPlane("sixth");
  await stage.person.mergePatch(Service, stage.ref("sixth"), { spec: { clusterIP: "fd00::7" } });
  const own = { image: "ghcr.io/coder/coder:own", readinessProbe: { enabled: true } };
  await stage.serve("probed", { controlPlaneRef: { name: "sixth" }, ...own });
  const before = await stage.template("probed");
  expect(before.spec?.containers[0]?.env).toContainEqual({
    name: "CODER_PROMETHEUS_ADDRESS",
    value: "[::]:2112",
  });
  await stage.person.delete(CoderControlPlane, stage.ref("sixth"));
  await stage.change("probed", { replicas: 2 });
  await stage.eventually(async () =>
    expect((await stage.get(Deployment, "provisioner-probed")).spec?.replicas).toBe(2),
  );
  expect(await stage.template("probed")).toEqual(before);
});

test("a coderd that redirects to its access URL is reached by that URL, also by its daemons", async () => {
  const certificate = ca.issue([PUBLIC, serviceOf("redirecting")]);
  await publish("redirecting", certificate, true);
  await stage.serve("redirected", { controlPlaneRef: { name: "redirecting" } });
  expect(await dialled("redirected")).toEqual(byName);
});

test("daemons dial the address that the control plane gives for them", async () => {
  await stage.controlPlane("bridged");
  const internalURL = "http://coder.internal:7080";
  await stage.person.mergePatch(CoderControlPlane, stage.ref("bridged"), { spec: { internalURL } });
  const before = await stage.serve("far", { controlPlaneRef: { name: "bridged" } });
  expect(await dialled("far")).toEqual({ url: internalURL, hostAliases: undefined });
  expect(before.controlPlaneURL).toBe(stage.urlOf("bridged"));
});

test("an operator that learns of another cluster domain moves daemons there, and no key is replaced", async () => {
  const world = new MemoryWorld();
  const other = await openStage(world, "moving");
  const coderd = await other.controlPlane();
  const before = await other.serve("pool");
  await other.operator.stop();
  const route: Route = ({ href }) => world.coderds.route(new URL(href.replace("k8s.corp", "cluster.local")));
  await other.startOperator({ clusterDomain: "k8s.corp", coderdRoute: route });
  const url = `http://coder.${other.namespace}.svc.k8s.corp:80`;
  await other.eventually(async () => {
    const { spec } = await other.template("pool");
    expect(spec?.containers[0]?.env).toContainEqual({ name: "CODER_URL", value: url });
  });
  await other.rollOut("pool");
  const after = await other.untilSettled("pool");
  expect(after).toMatchObject({ provisionerKeyID: before.provisionerKeyID, controlPlaneURL: url });
  expect(coderd.keys).toHaveLength(1);
  await other[Symbol.asyncDispose]();
});
