import type { Pod } from "kube-controller-runtime";
import { stored } from "kube-controller-runtime/testing";
import { describe, expect, test } from "vitest";
import { at, NEW } from "../../../test/support/upgrade-plan.ts";
import type { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import { withDefaults } from "../coderd/settings.ts";
import { imageCheckOf, imageCheckPod, refusedCheck } from "./image-check.ts";

const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } };
const podAntiAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "zone" }] };

function controlPlane(spec: object = {}) {
  return withDefaults(stored<CoderControlPlane>({ spec: { image: NEW, ...spec } }));
}

describe("the pod that checks an image", () => {
  const record = at("Preflight");

  test("runs where and as a pod of coderd would", () => {
    const asCoderd = {
      imagePullSecrets: [{ name: "registry" }],
      nodeSelector: { pool: "coder" },
      tolerations: [{ key: "coder", operator: "Exists" }],
      priorityClassName: "high",
    };
    const container = {
      imagePullPolicy: "Always",
      resources: { limits: { memory: "1Gi" } },
      securityContext: { readOnlyRootFilesystem: true },
    };
    const podSecurityContext = { runAsNonRoot: true };
    const affinity = { nodeAffinity, podAntiAffinity };
    const spec = { ...asCoderd, ...container, podSecurityContext, affinity, serviceAccount: { name: "sa" } };
    expect(imageCheckPod(controlPlane(spec), record).spec).toMatchObject({
      ...asCoderd,
      ...{ securityContext: podSecurityContext, affinity: { nodeAffinity }, serviceAccountName: "sa" },
      containers: [{ ...container, image: NEW }],
    });
  });

  test("reads no Secret, has no token, is not restarted, and terminates", () => {
    const spec = { extraEnv: [{ name: "CODER_PG_CONNECTION_URL", value: "postgres://secret" }] };
    const pod = imageCheckPod(controlPlane(spec), record);
    expect(JSON.stringify(pod)).not.toContain("secret");
    expect(pod.spec).toMatchObject({
      automountServiceAccountToken: false,
      restartPolicy: "Never",
      activeDeadlineSeconds: 3_600,
    });
  });

  test("asks the program of the spec for its version", () => {
    const [container] =
      imageCheckPod(controlPlane({ command: ["/usr/bin/coder"] }), record).spec?.containers ?? [];
    expect(container?.command?.slice(-2)).toEqual(["/usr/bin/coder", "version"]);
  });

  test("has one name for one upgrade and one spec of the pod", () => {
    const nameOf = (spec: object, upgrade = record) =>
      imageCheckPod(controlPlane(spec), upgrade).metadata?.name;
    expect(nameOf({ replicas: 3 })).toBe(nameOf({}));
    expect(nameOf({ imagePullSecrets: [{ name: "other" }] })).not.toBe(nameOf({}));
    expect(nameOf({}, { ...record, startedAt: "2026-01-02T00:00:00Z" })).not.toBe(nameOf({}));
  });
});

/** Result for a pod with this container state. */
function said(state: object, { spec = {}, phase = "Pending" } = {}) {
  const container = { name: "coder", image: NEW, imageID: "", ready: false, restartCount: 0, state };
  const pod = stored<Pod>({ status: { phase, containerStatuses: [container] } } as Pod);
  return imageCheckOf(pod, controlPlane(spec), { now: 0, warnings: new Map() });
}

describe("of the new image it is known", () => {
  const ended = (exitCode: number, message = "") => ({ terminated: { exitCode, message } });

  test.each<[string, object, object]>([
    ["nothing while it is pulled", { waiting: { reason: "ContainerCreating" } }, { kind: "running" }],
    [
      "its version",
      ended(0, "Coder v2.36.1+abc Fri Aug 14\nhttps://github.com/coder/coder\n"),
      { kind: "pulled", version: "v2.36.1+abc" },
    ],
    ["that it was pulled where it prints none", ended(0), { kind: "pulled", version: undefined }],
    ["that it was pulled where it has no shell", ended(128, "no such file"), { kind: "pulled" }],
    ["that it was pulled where it has its program elsewhere", ended(127), { kind: "pulled" }],
    ["that it can't be pulled", { waiting: { reason: "ImagePullBackOff" } }, { reason: "ImagePullFailed" }],
    [
      "that its program does not run here",
      ended(1, "exec format error\n"),
      { reason: "ImageUnusable", message: expect.stringContaining("exit code 1: exec format error.") },
    ],
    [
      "that nothing is, where the container can't be made",
      { waiting: { reason: "CreateContainerConfigError", message: "image will run as root" } },
      { reason: "ImageCheckBlocked", message: expect.stringContaining("image will run as root") },
    ],
  ])("%s", (_case, state, expected) => {
    expect(said(state)).toMatchObject(expected);
  });

  test("that it was pulled where a program of the spec prints no version", () => {
    expect(said(ended(2), { spec: { command: ["/wrapper"] } })).toEqual({ kind: "pulled" });
  });

  test("that its pod failed before, as after an eviction", () => {
    expect(said({}, { phase: "Failed" })).toMatchObject({ reason: "ImageCheckBlocked" });
  });
});

test("a refusal names the quota and not the pod that never was", () => {
  const message = 'apply Pod "dev/coder-image-1": pods "coder-image-1" is forbidden: exceeded quota: small.';
  expect(refusedCheck(message, NEW)).toMatchObject({
    message: expect.stringMatching(/is rejected: exceeded quota: small\. Allow the pod/),
  });
});

test("a refusal by Pod Security names all requirements", () => {
  const requirements = Array.from({ length: 12 }, (_, index) => `requirement ${index} (set it in the pod)`);
  const message = `pods "coder-image-1" is forbidden: violates PodSecurity: ${requirements.join(", ")}`;
  expect(refusedCheck(message, NEW)).toMatchObject({ message: expect.stringContaining("requirement 11") });
});

test("a volume that can't be mounted into the pod that checks the image is the cause", () => {
  const conditions = [{ type: "PodScheduled", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }];
  const pod = stored<Pod>({ status: { phase: "Pending", conditions } } as unknown as Pod);
  const now = Date.parse("2026-01-01T00:01:00Z");
  const warning = { reason: "FailedMount", message: 'secret "ca" not found', at: now };
  const warnings = new Map([[pod.metadata.uid, [warning]]]);
  expect(imageCheckOf(pod, controlPlane({}), { now, warnings })).toMatchObject({
    reason: "ImageCheckBlocked",
    message: expect.stringContaining('a volume cannot be mounted: secret "ca" not found'),
  });
});
