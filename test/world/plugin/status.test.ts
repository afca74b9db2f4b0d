import { Deployment, Namespace, type TransportRequest } from "kube-controller-runtime";
import { FaultyTransport, offline } from "kube-controller-runtime/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { CoderControlPlane, CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import type { StatusReport } from "../../../src/plugin/commands/status/report.ts";
import { kubectlCoder, limited } from "../../support/plugin.ts";
import { createOperator, setUpFixture } from "../../support/plugin-fixture.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

const world = new MemoryWorld();
const me = { transport: world.api, clock: world.clock, namespace: "coder" };
const terminal = { ...me, columns: 100 };
beforeAll(() => setUpFixture({ client: world.person, namespace: "coder", now: world.clock.now() }));

const reportOf = (json: string): StatusReport => JSON.parse(json);

describe("status of one control plane", () => {
  test("is one screen with its version, license, certificate, pools, proxies, problems and events", async () => {
    const { code, out } = await kubectlCoder(terminal, "status", "coder");
    expect(code).toBe(3);
    for (const line of [
      "✗ coder in namespace coder",
      "  Version     v2.24.1 · ghcr.io/coder/coder:v2.24.1",
      "  Certificate coder-tls · Ingress · 61 days left",
      "  ✓  linux      3       3     2     1        1  1-5     default       os=linux",
      "  ✓  sydney  1/1    ok      sydney.example.com",
      "  ✗ provisioner/gpu DeploymentReady: Stalled for 5m",
      "   3h  controlplane/coder  LicenseApplied         coderd has the license.",
    ])
      expect(out.split("\n")).toContain(line);
    expect(Math.max(...out.split("\n").map(({ length }) => length))).toBeLessThanOrEqual(100);
  });

  test("is plain ASCII of any width in a pipe", async () => {
    const { out } = await kubectlCoder(me, "status", "coder");
    expect(out).toMatch(/^[\n -~]+$/);
    expect(out).toContain("add the pull secret that its registry requires.");
  });

  test("that does not exist ends with 1 and says where it was looked for", async () => {
    expect(await kubectlCoder(me, "status", "missing")).toEqual({
      code: 1,
      out: "",
      error: 'kubectl coder: There is no CoderControlPlane "missing" in namespace "coder".\n',
    });
  });
});

describe("an upgrade", () => {
  const upgrade = { from: "coder:v2.23.0", to: "coder:v2.24.0", startedAt: "2025-12-31T23:50:00Z" };
  const upgraded = async (stage: string, status: "True" | "False") => {
    const name = `upgrade-${stage.toLowerCase()}`;
    const [ref, since] = [{ namespace: "upgrades", name }, "2025-12-31T23:55:00Z"];
    await world.person.create(CoderControlPlane, { metadata: ref });
    const condition = { reason: stage, message: `It is ${stage}.`, lastTransitionTime: since };
    const conditions = [
      { ...condition, type: "Ready", status: "True" },
      { ...condition, type: "Upgrading", status },
    ];
    const announcement = {
      banner: { state: "Announced" },
      prebuilds: { state: stage === "Stuck" ? "Skipped" : "Announcing" },
    };
    const more = stage === "Completed" ? {} : { announcement };
    const reported = { conditions, upgrade: { ...upgrade, stage, since }, ...more };
    await world.person.patchStatus(CoderControlPlane, ref, { status: reported });
    return kubectlCoder({ ...terminal, namespace: "upgrades" }, "status", name);
  };

  test("in progress is shown with its stage and announcement, and without a problem", async () => {
    const { code, out } = await upgraded("Migrating", "True");
    expect(code).toBe(0);
    expect(out).toContain("  Upgrade     Migrating for 5m · coder:v2.23.0 to coder:v2.24.0\n");
    expect(out).toContain("  Announced   banner · prebuilds paused\n");
  });

  test("that is stuck is a problem, and one that is complete is not mentioned", async () => {
    const stuck = await upgraded("Stuck", "False");
    expect(stuck.code).toBe(3);
    expect(stuck.out).toContain("✗ controlplane/upgrade-stuck Upgrading: Stuck for 5m");
    const complete = await upgraded("Completed", "False");
    expect(complete.code).toBe(0);
    expect(complete.out).not.toContain("Upgrade ");
    expect(stuck.out).toContain("  Announced   banner\n");
    expect(complete.out).not.toContain("Announced");
  });
});

describe("the first admin", () => {
  const shown = async (name: string, reported: object) => {
    const ref = { namespace: "admins", name };
    await world.person.create(CoderControlPlane, {
      metadata: ref,
      spec: { firstAdmin: { email: "admin@example.com" } },
    } as CoderControlPlane);
    await world.person.patchStatus(CoderControlPlane, ref, { status: reported });
    return kubectlCoder({ ...terminal, namespace: "admins" }, "status", name);
  };
  const condition = (status: "True" | "False", type: string, reason: string) => {
    return { type, status, reason, message: "It is so.", lastTransitionTime: "2025-12-31T23:55:00Z" };
  };

  test("is shown with the Secret of the initial password", async () => {
    const passwordSecretRef = { name: "created-first-admin", key: "password" };
    const { out } = await shown("created", {
      firstAdmin: { email: "admin@example.com", username: "admin", state: "Created", passwordSecretRef },
      conditions: [condition("True", "Ready", "Serving"), condition("True", "FirstAdminReady", "Created")],
    });
    expect(out).toContain("  First admin admin · Created · initial password in Secret created-first-admin\n");
  });

  test("that is missing comes before what waits for it", async () => {
    const { code, out } = await shown("missing", {
      conditions: [
        condition("False", "ExposureReady", "WaitingForFirstAdmin"),
        condition("False", "FirstAdminReady", "SecretMissing"),
      ],
    });
    expect(code).toBe(3);
    expect(out).toContain("  First admin admin · SecretMissing\n");
    const [first, second] = ["FirstAdminReady: SecretMissing", "ExposureReady: WaitingForFirstAdmin"];
    expect(out.indexOf(first)).toBeGreaterThan(0);
    expect(out.indexOf(second)).toBeGreaterThan(out.indexOf(first));
  });
});

describe("a person who may read only some kinds", () => {
  const lists = (...plurals: string[]) => ({
    ...me,
    transport: limited(world.api, ({ path }: TransportRequest) =>
      plurals.some((plural) => path.includes(`/namespaces/coder/${plural}`)),
    ),
  });

  test("sees what these say, and a line for each of the others", async () => {
    const person = lists("codercontrolplanes", "coderprovisioners");
    const { code, out } = await kubectlCoder(person, "status", "-o", "json");
    const { controlPlanes, gaps } = reportOf(out);
    expect(code).toBe(3);
    expect(controlPlanes[0]?.pools.map(({ name }) => name)).toEqual(["gpu", "linux"]);
    expect(controlPlanes[0]?.certificates).toEqual([{ secret: "coder-tls", servedBy: "Ingress" }]);
    expect(gaps).toEqual([
      'You may not list coderworkspaceproxies in namespace "coder".',
      'You may not list coderorganizations in namespace "coder".',
      'You may not list codergroups in namespace "coder".',
      'You may not list pods in namespace "coder".',
      'You may not list events in namespace "coder".',
      'You may not get secrets in namespace "coder".',
    ]);
  });

  test("gets exit code 1 without control planes, and everything else anyway", async () => {
    const { code, out } = await kubectlCoder(lists("coderprovisioners"), "status", "-A", "-o", "json");
    expect(code).toBe(1);
    expect(reportOf(out).gaps).toContain("You may not list codercontrolplanes in all namespaces.");
    const inNamespace = await kubectlCoder(lists("coderprovisioners"), "status");
    expect(inNamespace.out).toContain("provisioner/gpu DeploymentReady: Stalled");
  });
});

describe("status --watch", () => {
  /** Watches for some seconds; `midway` happens after the first of them. */
  async function watched(transport: FaultyTransport, midway: () => void = () => {}): Promise<string> {
    const stop = new AbortController();
    const person = { ...terminal, transport, signal: stop.signal };
    const seen = kubectlCoder(person, "status", "coder", "--watch");
    await world.clock.advance(1_000);
    midway();
    await world.clock.advance(4_500);
    stop.abort();
    const { code, out } = await seen;
    expect(code).toBe(3);
    return out;
  }

  test("draws the screen again in its place every two seconds, and ends with Ctrl-C", async () => {
    const out = await watched(new FaultyTransport(world.api));
    const [first = "", ...others] = out.split("\x1b[0J");
    expect(others).toHaveLength(2);
    expect(first).toContain("coder in namespace coder");
    // The first ends with the move that takes the cursor back to its own first line.
    expect(first.split("\n").at(-1)).toBe(`\x1b[${first.split("\n").length - 1}A`);
  });

  test("keeps the last screen while the cluster does not answer, and says so", async () => {
    const transport = new FaultyTransport(world.api);
    const out = await watched(transport, () => {
      transport.fault = offline;
    });
    expect(out.split("\n").at(-2)).toMatch(
      /^– This output is out of date: list \w+: the API server could not be reached\./,
    );
  });
});

test("200 control planes are a table with the broken ones first, and cost no more requests than one", async () => {
  const fleet = new MemoryWorld();
  const transport = new FaultyTransport(fleet.api);
  for (let number = 0; number < 200; number++) {
    const metadata = { namespace: `team-${number}`, name: "coder" };
    const good = number !== 117;
    await fleet.person.create(CoderControlPlane, { metadata });
    const condition = {
      type: "Ready",
      status: good ? "True" : "False",
      reason: good ? "Serving" : "Invalid",
    };
    const conditions = [{ ...condition, message: "m", lastTransitionTime: "2026-01-01T00:00:00Z" }];
    await fleet.person.patchStatus(CoderControlPlane, metadata, { status: { conditions } });
  }
  await createOperator(fleet.person, { namespace: "coder-system", now: fleet.clock.now() });
  const { code, out } = await kubectlCoder({ ...me, transport, clock: fleet.clock }, "status", "-A");
  const lines = out.split("\n");
  expect(code).toBe(3);
  expect(lines[1]).toMatch(/^!! {2}team-117 +coder +Invalid .*controlplane\/coder Invalid$/);
  expect(lines.filter((line) => line.startsWith("ok  team-"))).toHaveLength(199);
  expect(transport.requests).toHaveLength(9);
});

test("a namespace without a control plane says so and is fine", async () => {
  const { code, out } = await kubectlCoder({ ...me, namespace: "empty" }, "status");
  expect({ code, out }).toEqual({
    code: 0,
    out: "No CoderControlPlane found. Use -n or -A to select another namespace.\n",
  });
});

test("a namespace that does not exist is a failure, where the person named it", async () => {
  for (const command of ["status", "bundle", "check"])
    expect(await kubectlCoder(me, command, "-n", "nonexist")).toEqual({
      code: 1,
      out: "",
      error: 'kubectl coder: There is no namespace "nonexist".\n',
    });
  await world.person.create(Namespace, { metadata: { name: "exists" } });
  expect((await kubectlCoder(me, "status", "-n", "exists")).code).toBe(0);
  const transport = limited(world.api, ({ path }) => !/\/api\/v1\/namespaces\/[^/]+$/.test(path));
  expect((await kubectlCoder({ ...me, transport }, "status", "-n", "nonexist")).code).toBe(0);
});

test("a certificate whose Secret does not exist is wrong, and one that may not be read is not known", async () => {
  const ref = { namespace: "certificates", name: "coder" };
  const ingress = { host: "coder.example.com", tls: { secretName: "nowhere" } };
  await world.person.create(CoderControlPlane, { metadata: ref, spec: { expose: { ingress } } });
  const conditions = [
    {
      type: "Ready",
      status: "True",
      reason: "Serving",
      message: "m",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    },
  ];
  await world.person.patchStatus(CoderControlPlane, ref, { status: { conditions } });
  const person = { ...terminal, namespace: "certificates" };
  const { code, out } = await kubectlCoder(person, "status");
  expect(code).toBe(3);
  expect(out).toContain("  Certificate nowhere · Ingress · Secret does not exist\n");
  expect(out).toContain("✗ controlplane/coder Certificate: SecretMissing");
  expect(out).toContain(
    'Secret "nowhere", which contains the certificate of Ingress, does not exist; create it.',
  );
  const transport = limited(world.api, ({ path }) => !path.includes("/secrets/"));
  const unread = await kubectlCoder({ ...person, transport }, "status");
  expect(unread.code).toBe(0);
  expect(unread.out).toContain("  Certificate nowhere · Ingress · days left unknown\n");
});

describe("without an operator at work", () => {
  const lonely = new MemoryWorld();
  const person = { transport: lonely.api, clock: lonely.clock, namespace: "coder", columns: 100 };
  const ref = { namespace: "coder", name: "coder" };
  beforeAll(async () => {
    await lonely.person.create(CoderControlPlane, { metadata: ref });
    const conditions = [
      {
        type: "Ready",
        status: "True",
        reason: "Serving",
        message: "m",
        lastTransitionTime: "2026-01-01T00:00:00Z",
      },
    ];
    await lonely.person.patchStatus(CoderControlPlane, ref, { status: { conditions } });
  });

  test("status and why say that none is installed, whatever the conditions say", async () => {
    const status = await kubectlCoder(person, "status");
    expect(status.code).toBe(3);
    expect(status.out.split("\n").slice(0, 3)).toEqual([
      "✗ operator NotInstalled",
      "  No Deployment of the operator exists, so nothing reconciles these objects. Install its chart.",
      "",
    ]);
    const why = await kubectlCoder(person, "why", "controlplane/coder");
    expect(why.code).toBe(3);
    expect(why.out).toContain("└─ ✗ operator NotInstalled\n");
  });

  test("they say that it does not run, or does not lead", async () => {
    await createOperator(lonely.person, { namespace: "coder-system", now: lonely.clock.now() });
    expect((await kubectlCoder(person, "status")).code).toBe(0);
    lonely.clock.jump(60_000);
    expect((await kubectlCoder(person, "status")).out).toContain(
      '✗ operator NoLeader\n  No replica of Deployment "coder-system/coder-k8s" holds the Lease',
    );
    const operator = { namespace: "coder-system", name: "coder-k8s" };
    await lonely.person.patchStatus(Deployment, operator, { status: { availableReplicas: 0 } });
    expect((await kubectlCoder(person, "status")).out).toContain(
      '✗ operator NotRunning\n  No replica of Deployment "coder-system/coder-k8s" is available',
    );
  });

  test("a person who may not style for it gets no line about it", async () => {
    const transport = limited(lonely.api, ({ path }) => path.includes("/namespaces/coder/"));
    expect((await kubectlCoder({ ...person, transport }, "status")).out).not.toContain("operator");
  });
});

test("an object that is being deleted says so, in status and in why", async () => {
  const ref = { namespace: "coder", name: "leaving" };
  const finalizers = ["coder.com/provisioner-key-cleanup"];
  await world.person.create(CoderProvisioner, {
    metadata: { ...ref, finalizers },
    spec: { controlPlaneRef: { name: "coder" } },
  });
  await world.person.delete(CoderProvisioner, ref);
  const expected =
    "The object is being deleted; the operator removes finalizer coder.com/provisioner-key-cleanup after its cleanup.";
  const { controlPlanes } = reportOf((await kubectlCoder(me, "status", "coder", "-o", "json")).out);
  expect(controlPlanes[0]?.problems).toContainEqual(
    expect.objectContaining({ object: "provisioner/leaving", reason: "BeingDeleted", message: expected }),
  );
  const why = await kubectlCoder(me, "why", "provisioner/leaving", "-o", "json");
  expect(JSON.parse(why.out).chain[0]).toMatchObject({ state: "Deletion: BeingDeleted", message: expected });
  await world.person.mergePatch(CoderProvisioner, ref, { metadata: { finalizers: [] } });
});

test("a person who may read nothing gets a line for each part in the order of the parts, and nothing else", async () => {
  const transport = limited(world.api, () => false);
  const { code, out } = await kubectlCoder({ ...me, transport }, "status");
  expect(code).toBe(1);
  const kinds = ["controlplanes", "provisioners", "workspaceproxies", "organizations", "groups"];
  const parts = [...kinds.map((kind) => `coder${kind}`), "pods", "events"];
  expect(out).toBe(parts.map((part) => `-- You may not list ${part} in namespace "coder".\n`).join(""));
});

test.each(["why", "pause", "resume", "restart"])(
  "%s acts in one namespace, so that -A is a mistake in the command line",
  async (command) => {
    const { code, error } = await kubectlCoder(me, command, "linux", "-A");
    expect(code).toBe(2);
    expect(error).toContain("unknown option '-A'");
  },
);
