import type { Deployment, Pod, Stored } from "kube-controller-runtime";
import { stored } from "kube-controller-runtime/testing";
import { describe, expect, test } from "vitest";
import { rolloutOf } from "./rollout.ts";

const NOW = Date.parse("2026-01-01T12:00:00Z");

interface Counts {
  readonly wanted?: number;
  readonly present?: number;
  readonly updated?: number;
  readonly available?: number;
  readonly observed?: number;
  readonly conditions?: NonNullable<Deployment["status"]>["conditions"];
}

function aDeployment({
  wanted = 2,
  present = 2,
  updated = 2,
  available = 2,
  observed = 3,
  conditions,
}: Counts) {
  return {
    metadata: { name: "coder", namespace: "team", generation: 3 },
    spec: { replicas: wanted },
    status: {
      observedGeneration: observed,
      replicas: present,
      updatedReplicas: updated,
      availableReplicas: available,
      ...(conditions ? { conditions } : {}),
    },
  } as Deployment;
}

type ContainerStatus = NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>[number];

function aPod(
  name: string,
  container: Partial<ContainerStatus>,
  status: Partial<Pod["status"]> = {},
): Stored<Pod> {
  const metadata = {
    name,
    namespace: "team",
    creationTimestamp: "2026-01-01T11:59:00Z",
    labels: { "pod-template-hash": "new" },
  };
  const containerStatus = {
    name: "coder",
    image: "coder:x",
    imageID: "",
    ready: false,
    restartCount: 1,
    ...container,
  };
  return stored<Pod>({
    metadata,
    status: { phase: "Pending", containerStatuses: [containerStatus], ...status },
  });
}

const stuck = aDeployment({ updated: 1, available: 2, present: 3 });
const causeWith = (...pods: Stored<Pod>[]) => rolloutOf(stuck, { pods, now: NOW });

describe("a rollout", () => {
  test("is complete when its controller saw the spec and all pods are updated, available and alone", () => {
    expect(rolloutOf(aDeployment({}), { pods: [], now: NOW })).toEqual({ state: "complete" });
  });

  test.each<[string, Counts]>([
    ["its controller has not seen the newest spec", { observed: 2 }],
    ["pods of an older spec are left", { present: 3 }],
    ["not all pods are updated", { updated: 1 }],
    ["not all pods are available", { available: 1 }],
  ])("moves while %s", (_, counts) => {
    expect(rolloutOf(aDeployment(counts), { pods: [], now: NOW })).toEqual({ state: "moving" });
  });

  test("that was complete is only scaling while nothing but the number of pods differs", () => {
    const conditions = [{ type: "Progressing", status: "True", reason: "NewReplicaSetAvailable" }];
    const growing = aDeployment({ wanted: 4, present: 4, updated: 4, conditions });
    expect(rolloutOf(growing, { pods: [], now: NOW })).toEqual({ state: "scaling" });
    const rolling = aDeployment({ wanted: 4, present: 4, updated: 3, conditions });
    expect(rolloutOf(rolling, { pods: [], now: NOW })).toEqual({ state: "moving" });
  });

  test("stalls when the API server refuses its pods, in words that do not name a pod that never was", () => {
    const message =
      'pods "coder-6f-x2k9z" is forbidden: exceeded quota: small, requested: pods=1, used: pods=2';
    const conditions = [{ type: "ReplicaFailure", status: "True", reason: "FailedCreate", message }];
    expect(rolloutOf(aDeployment({ updated: 0, conditions }), { pods: [], now: NOW })).toEqual({
      state: "stalled",
      cause:
        "Pods cannot be created: a pod is forbidden: exceeded quota: small, requested: pods=1, used: pods=2.",
      mayResolve: true,
      recheckMs: 15_000,
    });
  });

  test("is not stalled by a ReplicaSet of an older template, and lists all violations of Pod Security", () => {
    const message = 'pods "coder-1" is forbidden: exceeded quota';
    const conditions = [{ type: "ReplicaFailure", status: "True", reason: "FailedCreate", message }];
    const seen = { pods: [], now: NOW };
    const deployment = aDeployment({ updated: 0, conditions });
    expect(rolloutOf(deployment, { ...seen, refusal: undefined })).toEqual({ state: "moving" });
    const asked = `(container "coder" must set ${"x".repeat(600)}), seccompProfile (must be set)`;
    const refusal = `pods "coder-2" is forbidden: violates PodSecurity "restricted:latest": ${asked}`;
    const { cause } = rolloutOf(deployment, { ...seen, refusal }) as { cause?: string };
    expect(cause).toMatch(
      /seccompProfile \(must be set\)\. Set spec\.presets\.securityContext, .*how-to\/pods\.md\.$/,
    );
  });

  test("reports problems of its pods in addition to a refusal, which may be over", () => {
    const pod = aPod("coder-1", { lastState: { terminated: { exitCode: 1 } } });
    const seen = { pods: [pod], now: NOW, refusal: 'pods "x" is forbidden: exceeded quota: small' };
    expect(rolloutOf(stuck, seen)).toMatchObject({
      state: "stalled",
      cause: expect.stringMatching(
        /exit code 1.* Pods cannot be created: a pod is forbidden: exceeded quota/,
      ),
    });
  });

  test("names every requirement of Pod Security that the pods do not meet", () => {
    const violations = [
      'allowPrivilegeEscalation != false (containers "wait-for-database", "coder" must set securityContext.allowPrivilegeEscalation=false)',
      'unrestricted capabilities (containers "wait-for-database", "coder" must set securityContext.capabilities.drop=["ALL"])',
      'runAsNonRoot != true (pod or containers "wait-for-database", "coder" must set securityContext.runAsNonRoot=true)',
      'seccompProfile (pod or containers "wait-for-database", "coder" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
    ].join(", ");
    const message = `pods "coder-6f-x2k9z" is forbidden: violates PodSecurity "restricted:latest": ${violations}`;
    const conditions = [{ type: "ReplicaFailure", status: "True", reason: "FailedCreate", message }];
    expect(rolloutOf(aDeployment({ updated: 0, conditions }), { pods: [], now: NOW })).toMatchObject({
      cause: expect.stringContaining(
        `Pods cannot be created: a pod is forbidden: violates PodSecurity "restricted:latest": ${violations}`,
      ),
    });
  });

  test("stalls when its deadline has passed and no pod says why", () => {
    const conditions = [{ type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" }];
    expect(rolloutOf(aDeployment({ updated: 1, conditions }), { pods: [], now: NOW })).toMatchObject({
      state: "stalled",
      cause: expect.stringContaining('Deployment "coder" exceeded its progress deadline'),
    });
  });

  test("that its controller has not seen yet is not blamed on the pods of the spec before", () => {
    const pod = aPod("coder-1", { lastState: { terminated: { exitCode: 1 } } });
    expect(rolloutOf(aDeployment({ observed: 2 }), { pods: [pod], now: NOW })).toEqual({ state: "moving" });
  });
});

describe("the cause of a stalled rollout", () => {
  test.each([
    ["a registry that does not answer", "ErrImagePull", "dial tcp: i/o timeout", true],
    ["a registry that does not have the image", "ErrImagePull", "coder:x: not found", false],
    ["an image without a name", "InvalidImageName", "", false],
    ["a Secret that is missing", "CreateContainerConfigError", 'secret "db" not found', false],
  ])("may resolve itself or not: %s", (_, reason, message, mayResolve) => {
    const { mayResolve: found = false } = causeWith(
      aPod("coder-1", { state: { waiting: { reason, message } } }),
    ) as { readonly mayResolve?: boolean };
    expect(found).toBe(mayResolve);
  });

  test("is the same while a kubelet pulls and while it waits to pull again", () => {
    const failure = "rpc error: code = NotFound desc = coder:x: not found";
    const pulling = { waiting: { reason: "ErrImagePull", message: failure } };
    const message = `Back-off pulling image "coder:x": ErrImagePull: ${failure}`;
    const waiting = { waiting: { reason: "ImagePullBackOff", message } };
    const first = causeWith(aPod("coder-1", { state: pulling }));
    expect(first).toEqual({
      state: "stalled",
      cause: `Pod "coder-1": image "coder:x" cannot be pulled: ${failure}. Correct the image, or add the pull secret that its registry requires.`,
    });
    expect(causeWith(aPod("coder-1", { state: waiting }))).toEqual(first);
  });

  test("is the same while a container runs again, waits to run again, and has just crashed", () => {
    const terminated = { exitCode: 1, reason: "Error", message: "database is\n gone" };
    const crashed = causeWith(aPod("coder-1", { state: { terminated } }));
    const waiting = { waiting: { reason: "CrashLoopBackOff", message: "back-off 5m0s restarting" } };
    expect(causeWith(aPod("coder-1", { state: waiting, lastState: { terminated } }))).toEqual(crashed);
    expect(causeWith(aPod("coder-1", { state: { running: {} }, lastState: { terminated } }))).toEqual(
      crashed,
    );
    expect(crashed).toEqual({
      state: "stalled",
      cause:
        'Pod "coder-1": container "coder" crashes with exit code 1: database is gone. See: kubectl -n team logs coder-1 -c coder --previous',
    });
  });

  test("shows no provisioner key that the error of a daemon has in a URL", () => {
    const url =
      "https://coder.example.com/api/v2/provisionerkeys/6qlSQ4Dergo5KY1D3wk4UZ4uEKClLEk2BSKd9iFPrty";
    const message = `error: unable to get provisioner key details: Get "${url}": x509: unknown authority`;
    const shown = causeWith(aPod("coder-1", { state: { terminated: { exitCode: 1, message } } }));
    expect(JSON.stringify(shown)).not.toContain("6qlSQ4Dergo5");
    expect(shown).toMatchObject({ cause: expect.stringContaining("provisionerkeys/[redacted]") });
  });

  test("is not a crash of a container that is ready again", () => {
    const lastState = { terminated: { exitCode: 1 } };
    const state = { running: { startedAt: "2026-01-01T11:59:00Z" } };
    expect(causeWith(aPod("coder-1", { ready: true, state, lastState }))).toEqual({ state: "moving" });
  });

  describe("of a container that is restarted again and again", () => {
    const ended = (finishedAt: string, more: object = {}) => ({
      lastState: {
        terminated: { exitCode: 3, startedAt: "2026-01-01T11:30:00Z", ...more, finishedAt },
      },
      state: { running: { startedAt: finishedAt } },
      ready: true,
    });
    const short = { startedAt: "2026-01-01T11:59:15Z" };

    test("counts while it happens to run, also when all pods are available, until ten minutes have passed", () => {
      const looping = aPod("coder-1", { restartCount: 3, ...ended("2026-01-01T11:59:30Z", short) });
      expect(rolloutOf(aDeployment({}), { pods: [looping], now: NOW })).toEqual({
        state: "stalled",
        cause:
          'Pod "coder-1": container "coder" crashes with exit code 3 (3 restarts in 30 seconds). See: kubectl -n team logs coder-1 -c coder --previous',
        recheckMs: 10 * 60_000 - 30_000,
      });
      const later = NOW + 10 * 60_000;
      expect(rolloutOf(aDeployment({}), { pods: [looping], now: later })).toEqual({ state: "complete" });
    });

    test.each([
      ["twice", { restartCount: 2, ...ended("2026-01-01T11:59:30Z", short) }, "2026-01-01T11:59:00Z"],
      ["after it had run for long", { restartCount: 9, ...ended("2026-01-01T11:59:30Z") }, "2025-12-01"],
      ["often weeks ago", { restartCount: 9, ...ended("2026-01-01T11:59:30Z", short) }, "2025-12-01"],
    ])("does not when it was restarted %s", (_, container, creationTimestamp) => {
      const pod = aPod("coder-1", container);
      pod.metadata.creationTimestamp = creationTimestamp;
      const settled = NOW + 31_000;
      expect(rolloutOf(aDeployment({}), { pods: [pod], now: settled })).toEqual({ state: "complete" });
    });

    test("is detected by the kubelet's back-off, regardless of the age of the pod", () => {
      const last = ended("2026-01-01T11:59:30Z", short);
      const running = { state: { running: { startedAt: "2026-01-01T11:59:50Z" } } };
      const pod = aPod("coder-1", { restartCount: 9, ...last, ...running });
      pod.metadata.creationTimestamp = "2025-12-01T00:00:00Z";
      const later = { pods: [pod], now: NOW + 2 * 60_000 };
      expect(rolloutOf(aDeployment({}), later)).toMatchObject({
        state: "stalled",
        cause: expect.stringContaining("(9 restarts in 31 days)"),
      });
    });

    test("omits unknown times, which the API server writes as null", () => {
      const terminated = { exitCode: 1, startedAt: null, finishedAt: null };
      const pod = aPod("coder-1", {
        restartCount: 3,
        state: { waiting: {} },
        lastState: { terminated },
      } as unknown as Partial<ContainerStatus>);
      expect(causeWith(pod)).toMatchObject({
        cause: expect.stringContaining("crashes with exit code 1 (3 restarts). See"),
      });
    });

    test("includes exit code 0, except for an init container", () => {
      const terminated = {
        exitCode: 0,
        startedAt: "2026-01-01T11:59:00Z",
        finishedAt: "2026-01-01T11:59:02Z",
      };
      const waiting = { reason: "CrashLoopBackOff" };
      const pod = aPod("coder-1", { state: { waiting }, lastState: { terminated } });
      expect(causeWith(pod)).toMatchObject({
        cause: expect.stringContaining("exits with exit code 0 instead of continuing to run"),
      });
      const init = { ...pod.status?.containerStatuses?.[0], state: { terminated } } as ContainerStatus;
      const starting = aPod("coder-1", {}, { initContainerStatuses: [init] });
      expect(causeWith(starting)).toEqual({ state: "moving" });
    });
  });

  test("quotes the cause that Coder lists below a line which only counts its errors", () => {
    const message = [
      "error: 2 errors encountered: Trace=[create workspace proxy: buildinfo: ])",
      '1. \tunable to fetch build info from primary coderd. Are you sure "https://coder" is a coderd instance?',
      '2. \tGet "https://coder/api/v2/buildinfo": tls: failed to verify certificate: x509: certificate signed by unknown authority',
    ].join("\n");
    expect(causeWith(aPod("coder-1", { lastState: { terminated: { exitCode: 1, message } } }))).toMatchObject(
      {
        cause: expect.stringContaining(
          'exit code 1: Get "https://coder/api/v2/buildinfo": tls: failed to verify certificate: x509: certificate signed by unknown authority. See',
        ),
      },
    );
  });

  test("quotes the last line, not an earlier warning that has an error as a field", () => {
    const message =
      "[warn] coderd.worker: hint decode failed ... error= pubsub: closed\nkilled by its wrapper\n";
    expect(causeWith(aPod("coder-1", { lastState: { terminated: { exitCode: 3, message } } }))).toMatchObject(
      {
        cause: expect.stringContaining("exit code 3: killed by its wrapper. See"),
      },
    );
  });

  test("quotes the line of the log that names the error, not what follows it", () => {
    const message = [
      "Started HTTP listener at http://0.0.0.0:8080",
      "Encountered an error running coder server, see help",
      "error: connect to postgres://coder:hunter2@db/coder: connection refused",
      "exiting",
    ].join("\n");
    const cause = causeWith(aPod("coder-1", { lastState: { terminated: { exitCode: 1, message } } }));
    expect(JSON.stringify(cause)).toMatch(/exit code 1: error: connect to .* connection refused\. See/);
    expect(JSON.stringify(cause)).not.toContain("hunter2");
  });

  test("names what is missing to start a container", () => {
    const state = { waiting: { reason: "CreateContainerConfigError", message: 'secret "db" not found' } };
    expect(causeWith(aPod("coder-1", { state }))).toMatchObject({
      cause: expect.stringContaining('container "coder" cannot be started: secret "db" not found. Create'),
    });
  });

  test("says when memory ran out", () => {
    const lastState = { terminated: { exitCode: 137, reason: "OOMKilled" } };
    expect(causeWith(aPod("coder-1", { lastState }))).toMatchObject({
      cause: expect.stringContaining("was killed because it used more memory than its limit"),
    });
  });

  const unscheduled = (message: string, since = "2026-01-01T11:58:00Z") =>
    aPod(
      "coder-1",
      {},
      {
        containerStatuses: [],
        conditions: [
          {
            type: "PodScheduled",
            status: "False",
            reason: "Unschedulable",
            lastTransitionTime: since,
            message,
          },
        ],
      },
    );

  test("is a lack of nodes when it lasts", () => {
    const message = "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available.";
    expect(causeWith(unscheduled(message, "2026-01-01T11:59:50Z"))).toEqual({
      state: "moving",
      recheckMs: 5_000,
    });
    expect(causeWith(unscheduled(message))).toMatchObject({
      cause: expect.stringContaining(
        "it cannot be scheduled: 0/3 nodes are available: 3 Insufficient cpu. Add nodes",
      ),
    });
  });

  test("is a node that does not answer when a pod is not ready and its kubelet does not say why", () => {
    const withReason = (reason?: string) =>
      aPod(
        "coder-1",
        { ready: true, state: { running: { startedAt: "2026-01-01T11:00:00Z" } } },
        { conditions: [{ type: "Ready", status: "False", ...(reason ? { reason } : {}) }] },
      );
    expect(causeWith(withReason())).toMatchObject({
      cause: expect.stringContaining('Pod "coder-1": its node is not responding. Recover'),
      mayResolve: true,
    });
    expect(causeWith(withReason("ReadinessGatesNotReady"))).toEqual({ state: "moving" });
  });

  describe("of a pod that no node takes", () => {
    const causeOf = (message: string) => (causeWith(unscheduled(message)) as { cause?: string }).cause;

    test("omits the scheduler's text about preemption in any wording", () => {
      expect(
        causeOf(
          "0/1 nodes are available: 1 node(s) were unschedulable. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
        ),
      ).toBe(
        'Pod "coder-1": it cannot be scheduled: 0/1 nodes are available: 1 node(s) were unschedulable. Add nodes, or change resources, nodeSelector, tolerations or affinity.',
      );
    });

    test("says to create a PersistentVolumeClaim that is missing, once and at once, and not to add nodes", () => {
      const message = '0/1 nodes are available: persistentvolumeclaim "data" not found. not found';
      const expected =
        'Pod "coder-1": it cannot be scheduled: 0/1 nodes are available: persistentvolumeclaim "data" not found. Create PersistentVolumeClaim "data", or correct spec.volumes.';
      expect(causeOf(message)).toBe(expected);
      expect(causeWith(unscheduled(message, "2026-01-01T12:00:00Z"))).toMatchObject({ cause: expected });
    });

    test("says to look at a PersistentVolumeClaim that has no volume", () => {
      expect(
        causeOf("0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: x"),
      ).toContain(
        "PersistentVolumeClaims. Correct the storage class of the claim, or add a volume for it; run kubectl describe pvc for details.",
      );
    });
  });

  test("is searched for among the pods of the newest spec only", () => {
    const crash = { lastState: { terminated: { exitCode: 1 } } };
    const old = aPod("coder-0", crash);
    old.metadata.labels = { "pod-template-hash": "old" };
    old.metadata.creationTimestamp = "2026-01-01T11:00:00Z";
    expect(causeWith(old, aPod("coder-1", { ready: true }))).toEqual({ state: "moving" });
  });

  test("is found for a pod of either template in the latest second", () => {
    const old = aPod("coder-0", { ready: true });
    old.metadata.labels = { "pod-template-hash": "old" };
    const crashing = aPod("coder-1", { lastState: { terminated: { exitCode: 1 } } });
    expect(causeWith(old, crashing)).toMatchObject({ state: "stalled" });
    expect(causeWith(crashing, old)).toMatchObject({ state: "stalled" });
  });

  test("has neither a secret nor more than a few lines of what a program wrote", () => {
    const message = `dial postgres://coder:hunter2@db/coder ${"x".repeat(100_000)}`;
    const rollout = causeWith(aPod("coder-1", { lastState: { terminated: { exitCode: 1, message } } }));
    expect(rollout.state).toBe("stalled");
    expect(JSON.stringify(rollout)).not.toContain("hunter2");
    expect(JSON.stringify(rollout).length).toBeLessThan(600);
  });
});
