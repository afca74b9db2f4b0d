import { type Kind, kind, Pod, Secret, timestamp } from "kube-controller-runtime";
import { createCertificateAuthority } from "kube-controller-runtime/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy } from "../../../src/api/v1alpha1/kinds.ts";
import { commonLabels } from "../../../src/operator/names.ts";
import type { StatusReport } from "../../../src/plugin/commands/status/report.ts";
import { kubectlCoder, limited, type Person } from "../../support/plugin.ts";
import { runningStatus } from "../../support/pod-statuses.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

const ORGANIZATION = "0d4f1d5c-0000-4000-8000-000000000001";
const OTHER_ORGANIZATION = "0d4f1d5c-0000-4000-8000-000000000002";

let world: MemoryWorld;
let me: Person;
beforeEach(() => {
  world = new MemoryWorld();
  me = { transport: world.api, clock: world.clock, namespace: "dev" };
});

const statusOf = async (person: Person): Promise<StatusReport> =>
  JSON.parse((await kubectlCoder(person, "status", "-o", "json")).out);

async function pool(name: string, namespace: string, spec: object = {}): Promise<void> {
  const metadata = { namespace, name };
  const whole = { controlPlaneRef: { name: "coder" }, tags: { os: "linux" }, ...spec };
  await world.person.create(CoderProvisioner, { metadata, spec: whole });
  const status = { readyReplicas: 3, organizationID: ORGANIZATION, provisionerKeyID: `key-of-${name}` };
  await world.person.patchStatus(CoderProvisioner as Kind<never>, metadata, { status });
}

describe("the daemons of a pool with a fixed number", () => {
  const daemon = (key: string, status: string, name = "any") => ({
    ...{ id: "1", key_id: key, name, version: "v2.36.1", tags: {}, status },
  });
  const PODS = ["fixed-0", "fixed-1", "fixed-2"];
  const job = (tags: object) => ({
    ...{ id: "1", created_at: "2026-01-01T00:00:00Z", status: "pending", type: "workspace_build" },
    ...{ tags: { scope: "organization", owner: "", ...tags }, queue_position: 1 },
  });
  const coderd: Required<Pick<Person, "env" | "fetch">> = {
    env: { CODER_URL: "https://coder.example.com", CODER_SESSION_TOKEN: "mine" },
    fetch: async (url) => {
      const states = ["busy", "busy", "idle", "offline", "busy", "idle"];
      // Of the last two the pods are gone, which coderd does not know for a while.
      const busy = states.map((state, index) => daemon("key-of-fixed", state, `fixed-${index}`));
      const isOfDaemons = `${url}`.includes(`/organizations/${ORGANIZATION}/provisionerdaemons`);
      return Response.json(
        isOfDaemons ? [...busy, daemon("key-of-other", "busy")] : [job({ os: "linux" }), job({ os: "mac" })],
      );
    },
  };
  beforeEach(async () => {
    await world.person.create(CoderControlPlane, { metadata: { namespace: "dev", name: "coder" } });
    await pool("fixed", "dev");
    const labels = commonLabels({
      app: "coder-provisioner",
      identity: { name: "fixed", namespace: "dev", uid: "" },
    });
    for (const name of PODS) {
      const metadata = { namespace: "dev", name };
      await world.person.create(Pod, { metadata: { ...metadata, labels } });
      await world.person.patchStatus(Pod, metadata, { status: runningStatus(world.clock.now()) });
    }
  });

  test("are counted by coderd, as far as their pods are ready, with a token of the person's own", async () => {
    const { controlPlanes, gaps } = await statusOf({ ...me, ...coderd });
    expect(controlPlanes[0]?.pools[0]).toMatchObject({ busy: 2, idle: 1, pending: 1 });
    expect(gaps).toEqual([]);
    const { out } = await kubectlCoder({ ...me, ...coderd, columns: 80 }, "status");
    expect(out).not.toContain("is not known");
  });

  test("do not count while they run between two crashes, either", async () => {
    const now = world.clock.now();
    const [startedAt, finishedAt] = [timestamp(now - 5_000), timestamp(now - 2_000)];
    const lastState = { terminated: { exitCode: 3, startedAt, finishedAt } };
    const status = runningStatus(now - 1_000, { lastState, restartCount: 3 });
    await world.person.patchStatus(Pod, { namespace: "dev", name: "fixed-0" }, { status });
    const { controlPlanes } = await statusOf({ ...me, ...coderd });
    expect(controlPlanes[0]?.pools[0]).toMatchObject({ busy: 1, idle: 1 });
  });

  test("are counted although an old coderd lists too many offline ones", async () => {
    const fetch: Person["fetch"] = async (url) => {
      const answer = await coderd.fetch(url);
      if (!`${url}`.includes("provisionerdaemons")) return answer;
      const dead = Array.from({ length: 2_500 }, () => daemon("key-of-fixed", "offline", "gone"));
      return Response.json([...dead, ...((await answer.json()) as object[])]);
    };
    const { controlPlanes, gaps } = await statusOf({ ...me, ...coderd, fetch });
    expect(controlPlanes[0]?.pools[0]).toMatchObject({ busy: 2, idle: 1 });
    expect(gaps).toEqual([]);
  });

  test("are counted as coderd lists them where the person may not see pods", async () => {
    const transport = limited(world.api, ({ path }) => path.includes("/coder.com/"));
    const { controlPlanes } = await statusOf({ ...me, ...coderd, transport });
    expect(controlPlanes[0]?.pools[0]).toMatchObject({ busy: 3, idle: 2 });
  });

  test("are not guessed: the dash has a legend that says how to find out", async () => {
    const { controlPlanes } = await statusOf(me);
    expect(controlPlanes[0]?.pools[0]).not.toHaveProperty("busy");
    const { out } = await kubectlCoder({ ...me, columns: 80 }, "status");
    expect(out).toContain(
      "  A dash means unknown: only coderd knows this of pools with a fixed number of\n  daemons. Set CODER_URL and CODER_SESSION_TOKEN to ask it.\n",
    );
  });

  test("are not counted by a coderd that shows nothing: a line says so, and no other what to set", async () => {
    const fetch = async () => new Response("no", { status: 404 });
    const { controlPlanes, gaps } = await statusOf({ ...me, ...coderd, fetch });
    expect(controlPlanes[0]?.pools[0]).not.toHaveProperty("busy");
    const reason = "coderd has no .*, or you may not see it\\.$";
    expect(gaps).toEqual([
      expect.stringMatching(`^Unable to count busy and idle daemons: ${reason}`),
      expect.stringMatching(`^Unable to count pending builds: ${reason}`),
    ]);
    const { out } = await kubectlCoder({ ...me, ...coderd, fetch, columns: 80 }, "status");
    expect(out).not.toContain("Set CODER_URL");
  });

  test.each([
    ["builds", "provisionerjobs", { busy: 2, idle: 1 }, /^Unable to count pending builds/],
    ["daemons", "provisionerdaemons", { pending: 1 }, /^Unable to count busy and idle daemons/],
  ])("and builds are counted apart, where coderd does not show the %s", async (_, path, shown, line) => {
    const fetch: Person["fetch"] = async (url) =>
      `${url}`.includes(path) ? new Response("no", { status: 404 }) : coderd.fetch(url);
    const { controlPlanes, gaps } = await statusOf({ ...me, ...coderd, fetch });
    const { busy, idle, pending } = controlPlanes[0]?.pools[0] ?? {};
    expect({ busy, idle, pending }).toEqual(shown);
    expect(gaps).toEqual([expect.stringMatching(line)]);
  });

  test("are requested only if they belong to the control plane", async () => {
    await world.person.create(CoderControlPlane, { metadata: { namespace: "dev", name: "other" } });
    await pool("of-other", "dev", { controlPlaneRef: { name: "other" } });
    const status = { organizationID: OTHER_ORGANIZATION };
    const metadata = { namespace: "dev", name: "of-other" };
    await world.person.patchStatus(CoderProvisioner as Kind<never>, metadata, { status });
    const asked: string[] = [];
    const fetch: Person["fetch"] = async (url) => {
      asked.push(`${url}`);
      return coderd.fetch(url);
    };
    await kubectlCoder({ ...me, ...coderd, fetch }, "status", "coder");
    expect(asked.filter((url) => url.includes(ORGANIZATION))).not.toEqual([]);
    expect(asked.filter((url) => url.includes(OTHER_ORGANIZATION))).toEqual([]);
  });
});

test("busy daemons of pools of one name in two namespaces are counted apart", async () => {
  for (const namespace of ["a", "b"]) {
    await world.person.create(CoderControlPlane, { metadata: { namespace, name: "coder" } });
    await pool("linux", namespace, { autoscaling: { maxReplicas: 5 } });
  }
  const labels = {
    "app.kubernetes.io/name": "coder-provisioner",
    "app.kubernetes.io/instance": "linux",
    "app.kubernetes.io/managed-by": "coder-k8s",
  };
  const annotations = { "controller.kubernetes.io/pod-deletion-cost": "1000" };
  await world.person.create(Pod, { metadata: { namespace: "a", name: "busy", labels, annotations } });
  const { out } = await kubectlCoder(me, "status", "-A", "-o", "json");
  const { controlPlanes } = JSON.parse(out) as StatusReport;
  const busy = controlPlanes.map(({ namespace, pools: [first] }) => [namespace, first?.busy]);
  expect(Object.fromEntries(busy)).toEqual({ a: 1, b: 0 });
});

describe("a control plane behind a Gateway", () => {
  const Gateway = kind<never>("gateway.networking.k8s.io/v1", { kind: "Gateway", plural: "gateways" });
  const tls = (name: string) => ({ certificateRefs: [{ name }] });
  beforeEach(async () => {
    world.api.install(Gateway);
    const parentRefs = [{ name: "public", namespace: "edge" }];
    const gateway = { host: "coder.example.com", wildcardHost: "*.coder.example.com", parentRefs };
    await world.person.create(CoderControlPlane, {
      metadata: { namespace: "dev", name: "coder" },
      spec: { expose: { gateway } },
    });
    const listeners = [
      { name: "own", hostname: "coder.example.com", tls: tls("own-tls") },
      { name: "apps", hostname: "*.example.com", tls: tls("wildcard-tls") },
      { name: "others", hostname: "wiki.example.com", tls: tls("wiki-tls") },
      { name: "plain" },
    ];
    const metadata = { namespace: "edge", name: "public" };
    await world.person.create(Gateway, { metadata, spec: { listeners } } as never);
    const day = 86_400_000;
    const now = world.clock.now();
    const validity = { from: new Date(now - day), to: new Date(now + 30.5 * day) };
    const { cert } = createCertificateAuthority().issue(["coder.example.com"], validity);
    await world.person.create(Secret, {
      metadata: { namespace: "edge", name: "own-tls" },
      data: { "tls.crt": Buffer.from(cert).toString("base64") },
    });
  });

  test("shows the certificates of the listeners for its hosts, with the days that are left", async () => {
    const { controlPlanes } = await statusOf(me);
    expect(controlPlanes[0]?.certificates).toEqual([
      { secret: "own-tls", servedBy: "Gateway public", expires: expect.any(String), daysLeft: 30 },
      { secret: "wildcard-tls", servedBy: "Gateway public", isMissing: true },
    ]);
  });

  test("has a line instead where the person may not read the Gateway", async () => {
    const transport = limited(world.api, ({ path }) => !path.includes("/gateways/"));
    const { controlPlanes, gaps } = await statusOf({ ...me, transport });
    expect(controlPlanes[0]?.certificates).toEqual([]);
    expect(gaps).toEqual(['You may not get gateways in namespace "edge".']);
  });

  test("and proxies behind the same: each certificate is read once and shown once", async () => {
    for (const name of ["sydney", "paris"]) await proxy(name, "coder", "edge");
    const { transport, reads } = counted();
    const { controlPlanes } = await statusOf({ ...me, transport });
    expect(controlPlanes[0]?.certificates.map(({ secret }) => secret)).toEqual(["own-tls", "wildcard-tls"]);
    expect(reads("/secrets/")).toHaveLength(2);
  });

  test("is not asked about for proxies of other control planes", async () => {
    await proxy("sydney", "other", "elsewhere");
    const { transport, reads } = counted();
    await kubectlCoder({ ...me, transport }, "status", "coder");
    expect(reads("/gateways/")).toEqual([expect.stringContaining("/edge/")]);
  });

  /** A proxy of a control plane behind a Gateway in some namespace. */
  async function proxy(name: string, controlPlane: string, namespace: string): Promise<void> {
    const gateway = { host: `${name}.example.com`, parentRefs: [{ name: "public", namespace }] };
    await world.person.create(CoderWorkspaceProxy, {
      metadata: { namespace: "dev", name },
      spec: { controlPlaneRef: { name: controlPlane }, expose: { gateway } },
    });
  }

  /** The API server, and the paths that were asked for. */
  function counted() {
    const paths: string[] = [];
    const transport = limited(world.api, ({ path }) => paths.push(path) > 0);
    return { transport, reads: (part: string) => paths.filter((path) => path.includes(part)) };
  }
});
