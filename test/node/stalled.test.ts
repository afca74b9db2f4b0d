import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { Observer, type Sample } from "./support/observer.ts";
import { Platform, poolOf, secret } from "./support/platform.ts";
import {
  assertNeverTakenBack,
  assertSteady,
  assertTruth,
  ended,
  podCondition,
  refused,
  type Trouble,
  waits,
} from "./support/truth.ts";

const LAST_LINE = "the last line of its log";
const GPU = "example.com/gpu";

interface Cause extends Omit<Trouble, "object"> {
  readonly cause: string;
  readonly spec: object;
}

const ends = (exitCode: number, before = "") => ({
  command: ["sh", "-c", `${before}echo "${LAST_LINE}" >&2; exit ${exitCode}`],
});

const CAUSES: readonly Cause[] = [
  {
    cause: "an image that can't be pulled",
    spec: { image: "localhost/does/not:exist" },
    since: waits(/^(ErrImagePull|ImagePullBackOff)$/),
    says: ["localhost/does/not:exist", "cannot be pulled"],
  },
  {
    cause: "a Secret that does not exist",
    spec: { extraEnv: [{ name: "A", valueFrom: { secretKeyRef: { name: "absent", key: "a" } } }] },
    since: waits(/^CreateContainerConfigError$/),
    says: ['container "provisioner" cannot be started', 'secret "absent" not found'],
  },
  {
    cause: "a container that ends at once",
    spec: ends(7),
    since: ended(7),
    says: ['container "provisioner"', "exit code 7", LAST_LINE],
  },
  {
    cause: "a container that ends some time after its start",
    spec: ends(9, "sleep 8; "),
    since: ended(9),
    says: ['container "provisioner"', "exit code 9", LAST_LINE],
  },
  {
    cause: "a container that ends with exit code 0",
    spec: ends(0),
    since: ended(0),
    says: ['container "provisioner"', "exit code 0"],
  },
  {
    cause: "a program that is not in the image",
    spec: { command: ["/no/such/program"] },
    since: waits(/^(RunContainerError|CrashLoopBackOff)$/),
    says: ['container "provisioner"', "/no/such/program"],
  },
  {
    cause: "a volume that can't be mounted",
    spec: {
      volumes: [{ name: "absent", configMap: { name: "nowhere" } }],
      volumeMounts: [{ name: "absent", mountPath: "/absent" }],
    },
    since: podCondition("PodScheduled", "True"),
    says: ["a volume cannot be mounted", 'configmap "nowhere" not found'],
  },
  {
    cause: "no node that takes the pod",
    spec: { nodeSelector: { "example.com/none": "has-this" } },
    since: podCondition("PodScheduled", "False", "Unschedulable"),
    says: ["it cannot be scheduled", "didn't match Pod's node affinity/selector"],
  },
  {
    cause: "a quota",
    spec: { resources: { limits: { [GPU]: "1" } } },
    since: refused("exceeded quota"),
    says: ["Pods cannot be created", "exceeded quota: none", GPU],
    namesPod: false,
  },
];

const nameOf = (index: number) => `pool-${index}`;
const objectOf = (index: number) => `coderprovisioner/${nameOf(index)}`;
const troubleOf = (index: number): Trouble => {
  const { since, says, namesPod = true } = CAUSES[index] ?? expect.fail();
  return { object: objectOf(index), since, says, namesPod };
};
const indexOf = (words: string) => CAUSES.findIndex(({ cause }) => cause.includes(words));

describe.runIf(inject("place")?.coder)("an object whose real pods do not start", () => {
  let platform: Platform;
  let observer: Observer;
  beforeAll(async () => {
    platform = await Platform.open("stalled");
    const { cluster, namespace } = platform;
    await cluster.apply({
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { namespace, name: "none" },
      spec: { hard: { [`requests.${GPU}`]: "0" } },
    });
    observer = new Observer(cluster, namespace);
    // All at once: what takes longest is to wait for a kubelet.
    for (const [index, { spec }] of CAUSES.entries()) await addPool(nameOf(index), spec);
    await cluster.apply(secret(namespace, "session", { token: "aaaaaaaaaa-bbbbbbbbbbbbbbbbbbbbbb" }));
    await cluster.apply({
      apiVersion: "coder.com/v1alpha1",
      kind: "CoderWorkspaceProxy",
      metadata: { namespace, name: "distrustful" },
      spec: {
        // It has a certificate of an authority that pods do not know.
        image: cluster.place.coder?.current,
        primaryAccessURL: "https://kubernetes.default.svc.cluster.local",
        proxySessionTokenSecretRef: { name: "session" },
      },
    });
  });
  beforeEach(({ onTestFailed }) => onTestFailed(async () => console.error(await platform?.story())));
  afterAll(async () => {
    await observer?.[Symbol.asyncDispose]();
    await platform?.[Symbol.asyncDispose]();
  });

  const addPool = (name: string, spec: object) =>
    platform.cluster.apply(
      poolOf({ namespace: platform.namespace, name }, { ...spec, tags: { pool: name } }),
    );

  test.each(CAUSES.map(({ cause }, index) => ({ cause, index })))(
    "is Stalled because of $cause, and everything says so within 30 s",
    async ({ index }) => {
      await assertTruth(platform, observer, troubleOf(index));
    },
  );

  test("has the next cause within 30 s when the quota is gone", async () => {
    const trouble = troubleOf(indexOf("quota"));
    await platform.cluster.kubectl(["delete", "quota", "none", `--namespace=${platform.namespace}`]);
    const next = {
      ...{ object: trouble.object, since: podCondition("PodScheduled", "False", "Unschedulable") },
      says: ["it cannot be scheduled", `Insufficient ${GPU}`],
    };
    const at = await assertTruth(platform, observer, next);
    const [last] = observer.between(at, Number.POSITIVE_INFINITY);
    expect(last?.condition(trouble.object, "Ready")?.message).not.toContain("exceeded quota");
  });

  test("is Stalled because of a certificate that a proxy does not trust, with its last line", async () => {
    await assertTruth(platform, observer, {
      object: "coderworkspaceproxy/distrustful",
      since: ended(1),
      says: ['container "workspace-proxy"', "exit code 1", "certificate signed by unknown authority"],
    });
  });

  test.each([
    ["at once", 7],
    ["some time after its start", 9],
    ["with exit code 0", 0],
  ])("remains Stalled while a container that ends %s is restarted", async (when) => {
    const trouble = troubleOf(indexOf(when));
    const find = (sample: Sample) => sample.condition(trouble.object, "Stalled");
    const reported = await observer.first(find, { from: 0, withinMs: 0 });
    await assertSteady(observer, trouble, { from: reported.at, restarts: 2 });
  });

  test("remains Stalled for the same cause in every sample", () => {
    const lasting = [...CAUSES.keys()].filter((index) => index !== indexOf("quota"));
    for (const index of lasting) assertNeverTakenBack(observer, troubleOf(index));
  });

  test("does not advise to look at the network where the exit code is known", async () => {
    const why = await platform.kubectlCoder("why", objectOf(indexOf("exit code 0")));
    expect(why.out).toContain("exit code 0");
    expect(why.out).not.toMatch(/DNS|network polic/);
  });

  test("is Stalled because of Pod Security, with all its requirements", async () => {
    const label = "pod-security.kubernetes.io/enforce=restricted";
    await platform.cluster.kubectl(["label", "namespace", platform.namespace, label]);
    await addPool("restricted", {});
    await assertTruth(platform, observer, {
      object: "coderprovisioner/restricted",
      since: refused("violates PodSecurity"),
      says: ["violates PodSecurity", "allowPrivilegeEscalation", "seccompProfile", "spec.presets"],
      namesPod: false,
    });
  });
});
