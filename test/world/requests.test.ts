import type { KubeObject, TransportRequest } from "kube-controller-runtime";
import { parseAddress } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { CoderdDeployment } from "../../lab/coderd/deployment.ts";
import { fakeLicense } from "../../lab/coderd/licenses.ts";
import { CoderProvisioner } from "../../src/api/v1alpha1/kinds.ts";
import { DaemonPods } from "../support/daemon-pods.ts";
import { type CoderdStage, openCoderdStage } from "./coderd/stage.ts";

/*
 * All that the operator asks for one control plane with license and operator access and for one provisioner, from their
 * creation until nothing is left to do. To add a request, add a line here with its cause.
 */

/** Long enough for the first look at the queue, too short for the second. */
const SETTLED = { withinMs: 20_000 };

let stage: CoderdStage;
let coderd: CoderdDeployment;
let requests: readonly TransportRequest[];
beforeAll(async () => {
  stage = await openCoderdStage();
  const { deployment, database } = await stage.coderd("coder");
  coderd = deployment;
  await stage.putSecret("database", { url: database.url });
  await stage.putSecret("license", { license: fakeLicense({ now: stage.clock.now() }) });
  await stage.untilIdle();
  const before = stage.operator.transport.requests.length;
  await createPair();
  await stage.markReady("coder");
  await stage.eventually(() => new DaemonPods(stage, () => [deployment]).replace("pool"));
  await stage.markReady("provisioner-pool");
  const from = stage.clock.now();
  await stage.eventually(() => expect(stage.clock.now()).toBe(from + SETTLED.withinMs), SETTLED);
  await stage.untilIdle();
  requests = stage.operator.transport.requests.slice(before);
});
afterAll(() => stage?.[Symbol.asyncDispose]());

async function createPair(): Promise<void> {
  const secretKeyRef = { name: "database", key: "url" };
  await stage.create("coder", {
    extraEnv: [{ name: "CODER_PG_CONNECTION_URL", valueFrom: { secretKeyRef } }],
    licenseSecretRef: { name: "license" },
    operatorAccess: {},
  });
  const { apiVersion, kind } = CoderProvisioner;
  const spec = { controlPlaneRef: { name: "coder" }, replicas: 2, tags: { pool: "large" } };
  await stage.person.create(CoderProvisioner, { apiVersion, kind, metadata: stage.ref("pool"), spec });
}

/** What was asked for one of the two, as verb and resource, and for an event its reason. */
function askedFor(which: "coder" | "pool"): string[] {
  const all = requests.map(({ method, path, body = "{}" }) => {
    const { plural, name, subresource, query } = parseAddress(path);
    const { metadata, reason = "" } = JSON.parse(body) as KubeObject & { reason?: string };
    const verb = query.has("watch") ? "WATCH" : method;
    const resource = subresource ? `${plural}/${subresource}` : plural;
    const isOfPool = /^(provisioner-)?pool\b/.test(name ?? metadata?.name ?? "");
    return { line: `${verb} ${resource} ${reason}`.trim(), owner: isOfPool ? "pool" : "coder" };
  });
  return all.filter(({ owner }) => owner === which).map(({ line }) => line);
}

test("a control plane that starts costs these requests to Kubernetes and no others", async () => {
  expect((await stage.status("coder")).phase).toBe("Ready");
  expect(askedFor("coder")).toEqual([
    // It was seen.
    "PATCH codercontrolplanes/status",
    // Those that it names: its license and its database. In a fleet one watch and one read serve all.
    "WATCH secrets",
    "WATCH secrets",
    // Before anything comes to be that outlives the object.
    "PATCH codercontrolplanes",
    "GET secrets",
    "GET secrets",
    // Whether the name of the token's Secret is taken: in that case no pod may start.
    "GET secrets",
    "PATCH serviceaccounts",
    "PATCH roles",
    "PATCH services",
    "PATCH rolebindings",
    "PATCH deployments",
    // The operator's token.
    "PATCH secrets",
    // It serves, with its license and a report of its health.
    "PATCH codercontrolplanes/status",
    "POST events Created",
    // The first look at its queue, after fifteen seconds.
    "PATCH codercontrolplanes/status",
  ]);
});

test("a provisioner that starts costs these requests to Kubernetes and no others", async () => {
  expect((await stage.get(CoderProvisioner, "pool")).status?.phase).toBe("Ready");
  expect(askedFor("pool")).toEqual([
    // It was seen.
    "PATCH coderprovisioners/status",
    // Before anything comes to be that outlives the object.
    "PATCH coderprovisioners",
    // Which key is about to be made.
    "PATCH coderprovisioners/status",
    // The key.
    "PATCH secrets",
    "POST events KeyCreated",
    "PATCH serviceaccounts",
    "PATCH roles",
    "PATCH rolebindings",
    "PATCH deployments",
    // Its daemons serve.
    "PATCH coderprovisioners/status",
  ]);
});

test("both together cost these requests to coderd and one session with its database", () => {
  const asked = coderd.calls.map(({ request }) => request.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, "{id}"));
  expect(asked).toEqual([
    // Whether the token works, and for all organizations.
    "GET /api/v2/users/me",
    "GET /api/v2/organizations",
    // Asked early, because the first report may take a coderd seconds.
    "GET /api/v2/debug/health",
    "POST /api/v2/licenses",
    // What the licenses allow, and for how long; and which version coderd has.
    "GET /api/v2/entitlements",
    "GET /api/v2/buildinfo",
    "GET /api/v2/licenses",
    // Where the key belongs, whether its name is free, and which id it got.
    "GET /api/v2/organizations/default",
    "GET /api/v2/organizations/default/provisionerkeys",
    "POST /api/v2/organizations/{id}/provisionerkeys",
    "GET /api/v2/organizations/{id}/provisionerkeys",
    // Once there are pods.
    "GET /api/v2/organizations/{id}/provisionerdaemons",
    // The first look at the queue.
    "GET /api/v2/organizations/{id}/provisionerjobs",
    "GET /api/v2/organizations/{id}/provisionerdaemons",
  ]);
  expect(stage.databases.connections).toBe(1);
});
