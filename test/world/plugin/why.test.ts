import { CoreEvent, type Kind, Pod, timestamp } from "kube-controller-runtime";
import { beforeAll, describe, expect, test } from "vitest";
import { CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import { commonLabels } from "../../../src/operator/names.ts";
import { kubectlCoder, limited } from "../../support/plugin.ts";
import { createOperator, setUpFixture } from "../../support/plugin-fixture.ts";
import { runningStatus } from "../../support/pod-statuses.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

const world = new MemoryWorld();
const me = { transport: world.api, clock: world.clock, namespace: "coder" };

/** A provisioner in the state that the operator would report. */
async function pool(name: string, controlPlane: string, condition: Readonly<Record<string, string>>) {
  const metadata = { namespace: "coder", name };
  await world.person.create(CoderProvisioner, {
    metadata,
    spec: { controlPlaneRef: { name: controlPlane } },
  });
  const conditions = [{ ...condition, lastTransitionTime: "2026-01-01T00:00:00Z" }];
  await world.person.patchStatus(CoderProvisioner as Kind<never>, metadata, { status: { conditions } });
}

beforeAll(() => setUpFixture({ client: world.person, namespace: "coder", now: world.clock.now() }));

const answerFor = async (...words: string[]) =>
  JSON.parse((await kubectlCoder(me, "why", ...words, "-o", "json")).out);

describe("why about an object", () => {
  test("leads from its condition to the pod, and says a thing once", async () => {
    const { code, out } = await kubectlCoder({ ...me, columns: 100 }, "why", "provisioner/gpu");
    expect(code).toBe(3);
    expect(out).toBe(
      [
        "provisioner/gpu",
        "└─ ✗ provisioner/gpu DeploymentReady: Stalled",
        "   └─ ✗ pod/provisioner-gpu-7d9c-x2 Pending",
        '        image "registry.example.com/coder:v2.24.1-gpu" cannot be pulled: 401 Unauthorized. Correct',
        "        the image, or add the pull secret that its registry requires.",
        "",
      ].join("\n"),
    );
  });

  test("explains several conditions of one pod by that pod once", async () => {
    const labels = {
      "app.kubernetes.io/name": "coder-provisioner",
      "app.kubernetes.io/instance": "twice",
      "app.kubernetes.io/managed-by": "coder-k8s",
    };
    const ref = { namespace: "coder", name: "provisioner-twice-1" };
    const waiting = { reason: "ErrImagePull", message: "401 Unauthorized" };
    const container = {
      name: "c",
      image: "i",
      imageID: "",
      ready: false,
      restartCount: 0,
      state: { waiting },
    };
    await world.person.create(Pod, { metadata: { ...ref, labels } });
    await world.person.patchStatus(Pod, ref, {
      status: { phase: "Pending", containerStatuses: [container] },
    });
    const metadata = { namespace: "coder", name: "twice" };
    const spec = { controlPlaneRef: { name: "coder" } };
    await world.person.create(CoderProvisioner, { metadata, spec });
    const time = { status: "False", message: "No.", lastTransitionTime: "2026-01-01T00:00:00Z" };
    const conditions = [
      { type: "DeploymentReady", reason: "Stalled", ...time },
      { type: "DaemonsConnected", reason: "NotConnected", ...time },
    ];
    await world.person.patchStatus(CoderProvisioner as Kind<never>, metadata, { status: { conditions } });
    const { chain } = await answerFor("twice");
    expect(chain.map(({ object }: { object: string }) => object)).toEqual([
      "provisioner/twice",
      "pod/provisioner-twice-1",
    ]);
  });

  test("that is well says so with exit code 0", async () => {
    const { code, out } = await kubectlCoder(me, "why", "sydney");
    expect({ code, out }).toEqual({
      code: 0,
      out: "ok proxy/sydney: No problems found.\n",
    });
  });

  test("follows a provisioner to what is wrong with its control plane", async () => {
    const message = "Waiting for the control plane.";
    await pool("late", "coder", { type: "ControlPlaneReady", status: "False", reason: "Pending", message });
    const { chain } = await answerFor("late");
    expect(chain).toMatchObject([
      { depth: 0, object: "provisioner/late", state: "ControlPlaneReady: Pending", message },
      { depth: 1, object: "controlplane/coder", state: "BuildsServed: NoMatchingProvisioner" },
    ]);
  });

  test("works without the right to see pods and events, with a line for each", async () => {
    const transport = limited(world.api, ({ path }) => path.includes("/coder.com/"));
    const { out } = await kubectlCoder({ ...me, transport }, "why", "provisioner/gpu");
    expect(out).toContain("cannot be pulled");
    expect(out).toContain('-- You may not list pods in namespace "coder".');
    expect(out).toContain('-- You may not list events in namespace "coder".');
  });

  test("shows no secret in a pod's message", async () => {
    const url = "postgres://coder:hunter2@db/coder";
    const status = {
      containerStatuses: [
        {
          ...{ name: "c", image: "i", imageID: "", ready: false, restartCount: 1 },
          state: { terminated: { exitCode: 1, message: `can't reach ${url}` } },
        },
      ],
    };
    const labels = {
      "app.kubernetes.io/name": "coder-provisioner",
      "app.kubernetes.io/instance": "crashing",
      "app.kubernetes.io/managed-by": "coder-k8s",
    };
    const ref = { namespace: "coder", name: "crashing-1" };
    await world.person.create(Pod, { metadata: { ...ref, labels } });
    await world.person.patchStatus(Pod, ref, { status });
    await pool("crashing", "coder", {
      type: "DeploymentReady",
      status: "False",
      reason: "Stalled",
      message: "m",
    });
    const { answer } = await answerFor("crashing");
    expect(answer).toContain("crashes with exit code 1: can't reach postgres://");
    expect(answer).not.toContain("hunter2");
  });
});

test("of several warnings the one that was seen last counts, however they are counted", async () => {
  const other = new MemoryWorld();
  await setUpFixture({ client: other.person, namespace: "coder", now: other.clock.now() });
  const involvedObject = { kind: "Pod", name: "provisioner-gpu-7d9c-x2", namespace: "coder" };
  const [early, late, latest] = ["2025-12-31T23:00:00Z", "2025-12-31T23:30:00Z", "2025-12-31T23:50:00Z"];
  const warn = (reason: string, times: object) =>
    other.person.create(CoreEvent, {
      ...{ metadata: { namespace: "coder", name: reason.toLowerCase() }, involvedObject, type: "Warning" },
      ...{ reason, message: "It failed.", ...times },
    });
  await warn("Once", { lastTimestamp: late });
  await warn("Again", { eventTime: early, series: { count: 9, lastObservedTime: latest } });
  const { out } = await kubectlCoder({ ...me, transport: other.api }, "why", "gpu");
  expect(out).toContain("event Again");
  expect(out).not.toContain("event Once");
});

describe("why about a build", () => {
  /** coderd as the person sees it. */
  const coderd = (paths: Readonly<Record<string, unknown>>) => ({
    ...me,
    env: { CODER_URL: "https://coder.example.com", CODER_SESSION_TOKEN: "marked-token" },
    fetch: async (url: string | URL | Request, options?: RequestInit) => {
      const { pathname } = new URL(String(url));
      expect(new Headers(options?.headers).get("Coder-Session-Token")).toBe("marked-token");
      const body = paths[pathname];
      return new Response(JSON.stringify(body ?? {}), { status: body ? 200 : 404 });
    },
  });
  const tags = { scope: "organization", owner: "", os: "linux" };
  const pending = (more: object) => ({ job: { status: "pending", tags: { ...tags, ...more } } });

  test("names the pool that could take it, and why that pool does not", async () => {
    const person = coderd({ "/api/v2/workspacebuilds/b1": pending({ gpu: "a100" }) });
    const { code, out } = await kubectlCoder(person, "why", "build/b1");
    expect(code).toBe(3);
    expect(out).toContain("The build waits for a daemon with the tags os=linux, gpu=a100.");
    expect(out).toContain("pod/provisioner-gpu-7d9c-x2");
    expect(out).not.toContain("provisioner/linux");
  });

  test("of a workspace names the tag that no pool has, and the nearest pool", async () => {
    const latest_build = pending({ region: "eu" });
    const person = coderd({ "/api/v2/users/alice/workspace/dev": { latest_build } });
    const { out } = await kubectlCoder(person, "why", "workspace/alice/dev");
    expect(out).toMatch(/No CoderProvisioner .* The closest match, "\w+", lacks region=eu\./);
  });

  describe("that failed", () => {
    /** What the Kubernetes provider of Terraform prints; coderd keeps it as a line of the log. */
    const refusal = (verb: string, resource: string, namespace: string) =>
      `Error: Failed to ${verb}: ${resource} is forbidden: User "system:serviceaccount:coder:few-provisioner" cannot ${verb} resource "${resource.split(".")[0]}" in API group "${resource.split(".")[1] ?? ""}" in the namespace "${namespace}"`;
    const failed = (output: string) =>
      coderd({
        "/api/v2/users/me/workspace/dev": {
          latest_build: { id: "b9", job: { status: "failed", error: "terraform apply: exit status 1" } },
        },
        "/api/v2/workspacebuilds/b9/logs": [{ output: "Plan: 2 to add" }, { output }],
      });
    beforeAll(() =>
      world.person.create(CoderProvisioner, {
        metadata: { namespace: "coder", name: "few" },
        spec: {
          controlPlaneRef: { name: "coder" },
          rbac: { enableDeployments: false, workspaceNamespaces: ["workspaces"] },
        },
      }),
    );

    test.each([
      ["create", "deployments.apps", "workspaces", "Set spec.rbac.enableDeployments to true."],
      ["create", "pods", "elsewhere", 'Add "elsewhere" to spec.rbac.workspaceNamespaces.'],
      ["create", "services", "workspaces", "Add create on services to spec.rbac.extraRules."],
    ])("for want of the right to %s %s in %s names the field that grants it", async (...right) => {
      const [verb, resource, namespace, advice] = right;
      const person = { ...failed(refusal(verb, resource, namespace)), columns: 300 };
      const { code, out } = await kubectlCoder(person, "why", "workspace/dev");
      expect(code).toBe(3);
      expect(out).toContain("terraform apply: exit status 1");
      expect(out).toContain("provisioner/few lacks a permission");
      expect(out).toContain(
        `ServiceAccount "few-provisioner" may not ${verb} ${resource} in namespace "${namespace}". ${advice}`,
      );
    });

    test("for another reason shows coderd's words alone", async () => {
      const { out } = await kubectlCoder(failed("Error: no space left"), "why", "workspace/dev");
      expect(out).toContain("terraform apply: exit status 1");
      expect(out).not.toContain("lacks a permission");
    });
  });

  test.each([
    [
      "whose pod no longer exists",
      "provisioner-gpu-7d9c-gone",
      /whose pod no longer exists; coderd fails the build after 5 minutes/,
    ],
    [
      "that does not run",
      "provisioner-gpu-7d9c-x2",
      /which has terminated; .*pod\/provisioner-gpu-7d9c-x2 Pending/s,
    ],
  ])("that runs on a daemon %s says so", async (_, worker_name, expected) => {
    const job = { status: "running", tags, worker_name, started_at: "2026-01-01T00:00:00Z" };
    const person = coderd({ "/api/v2/workspacebuilds/b1": { job } });
    const { code, out } = await kubectlCoder({ ...person, columns: 200 }, "why", "build/b1");
    expect(code).toBe(3);
    expect(out).toMatch(expected);
  });

  describe("of which coderd has only the id of the daemon", () => {
    const job = { id: "j1", organization_id: "o1", status: "running", tags, worker_id: "w1" };
    const answers = { "/api/v2/workspacebuilds/b1": { job } };

    test("gets its name from the jobs of the organization", async () => {
      const worker_name = "provisioner-gpu-7d9c-gone";
      const listed = { "/api/v2/organizations/o1/provisionerjobs/j1": { ...job, worker_name } };
      const { code, out } = await kubectlCoder(
        { ...coderd({ ...answers, ...listed }), columns: 200 },
        "why",
        "build/b1",
      );
      expect(code).toBe(3);
      expect(out).toContain(`"${worker_name}", whose pod no longer exists`);
    });

    test("is unknown to a person who may not see those", async () => {
      const { code, out } = await kubectlCoder({ ...coderd(answers), columns: 200 }, "why", "build/b1");
      expect(code).toBe(1);
      expect(out).toContain("Unknown: coderd does not say which daemon runs it");
    });
  });

  describe("that runs on a daemon that was restarted once", () => {
    const worker_name = "provisioner-linux-gpu-5c6d7e8f9-abcde";
    const at = (minutes: number) => timestamp(world.clock.now() - minutes * 60_000);
    beforeAll(async () => {
      const metadata = { namespace: "coder", name: "linux-gpu" };
      await world.person.create(CoderProvisioner, { metadata, spec: { controlPlaneRef: { name: "coder" } } });
      const identity = { ...metadata, uid: "" };
      const labels = commonLabels({ app: "coder-provisioner", identity });
      const ref = { namespace: "coder", name: worker_name };
      await world.person.create(Pod, { metadata: { ...ref, labels } });
      const lastState = { terminated: { exitCode: 137, startedAt: at(60), finishedAt: at(11) } };
      const status = runningStatus(world.clock.now() - 10 * 60_000, { lastState, restartCount: 1 });
      await world.person.patchStatus(Pod, ref, { status });
    });
    const whyOf = (started_at: string, worker = worker_name, more: object = {}) => {
      const job = { status: "running", tags, worker_name: worker, started_at };
      const person = { ...coderd({ "/api/v2/workspacebuilds/b1": { job } }), columns: 200, ...more };
      return kubectlCoder(person, "why", "build/b1");
    };

    test("says so only of an earlier build", async () => {
      const lost = await whyOf(at(20));
      expect(lost.code).toBe(3);
      expect(lost.out).toContain("which has terminated");
      expect((await whyOf(at(5))).code).toBe(0);
    });

    test("goes by the pool of the pod, and not by one whose name begins the name of that", async () => {
      const { out } = await whyOf(at(5), "provisioner-linux-gpu-5c6d7e8f9-gone0");
      expect(out).toContain("whose pod no longer exists");
      expect(out).not.toContain("provisioner/linux ");
    });

    test("says that this is not known to a person who may not list pods", async () => {
      const transport = limited(world.api, ({ path }) => !path.includes("/pods"));
      const { code, out } = await whyOf(at(20), worker_name, { transport });
      expect(code).toBe(1);
      expect(out).toContain("Unknown: the pod of its daemon could not be read.");
      expect(out).toContain('You may not list pods in namespace "coder".');
      expect(out).not.toContain("is gone");
    });
  });

  test("says first that no operator runs", async () => {
    const alone = new MemoryWorld();
    const job = { status: "running", tags, worker_name: "laptop" };
    const person = {
      ...coderd({ "/api/v2/workspacebuilds/b1": { job } }),
      transport: alone.api,
      clock: alone.clock,
    };
    for (const who of [person, { ...me, transport: alone.api, clock: alone.clock }]) {
      const { code, out } = await kubectlCoder(who, "why", "build/b1");
      expect(code).toBe(3);
      expect(out).toContain("operator NotInstalled");
    }
  });

  test("that runs on a daemon of others is fine", async () => {
    const job = { status: "running", tags, worker_name: "laptop" };
    const person = coderd({ "/api/v2/workspacebuilds/b1": { job } });
    expect((await kubectlCoder(person, "why", "build/b1")).code).toBe(0);
  });

  test("that coderd does not show is one line, without the token", async () => {
    const seen = await kubectlCoder(coderd({}), "why", "workspace/dev");
    expect(seen.code).toBe(1);
    expect(seen.error).toBe(
      "kubectl coder: coderd has no /api/v2/users/me/workspace/dev, or you may not see it.\n",
    );
  });

  test("goes by what the control planes report where the person has named no coderd", async () => {
    const { out } = await kubectlCoder(me, "why", "workspace/dev");
    expect(out).toContain("controlplane/coder BuildsServed: NoMatchingProvisioner");
    expect(out).toContain("-- Set CODER_URL and CODER_SESSION_TOKEN to ask coderd about this build");
  });
});

test.each(["build/zzz", "workspace/alice/nothing"])(
  "%s can't be explained without a token where no build waits, and says what to set",
  async (object) => {
    const calm = new MemoryWorld();
    await createOperator(calm.person, { namespace: "coder-system", now: calm.clock.now() });
    const person = { ...me, transport: calm.api, clock: calm.clock };
    const { code, out } = await kubectlCoder(person, "why", object);
    expect(code).toBe(1);
    expect(out.split("\n").filter(Boolean)).toEqual([
      `-- ${object}: Unknown: coderd was not asked, and no control plane reports a waiting build.`,
      "-- Set CODER_URL and CODER_SESSION_TOKEN to ask coderd about this build; the output covers all builds.",
    ]);
  },
);

test.each(["build/", "workspace/"])("%s without a name is a mistake in the command line", async (object) => {
  const { code, error } = await kubectlCoder(me, "why", object);
  expect({ code, error }).toEqual({
    code: 2,
    error: `kubectl coder: "${object}" is not valid; use workspace/[owner/]name or build/id.\n`,
  });
});

test("why a build waits is unknown to a user without permissions, which is not a success", async () => {
  const person = { ...me, transport: limited(world.api, () => false) };
  const { code, out } = await kubectlCoder(person, "why", "workspace/alice/dev");
  expect(code).toBe(1);
  expect(out).toMatch(/^-- workspace\/alice\/dev: Unknown: some objects could not be read\.\n/);
});
