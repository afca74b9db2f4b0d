import {
  type Client,
  CoreEvent,
  Deployment,
  type Kind,
  type KubeObject,
  Lease,
  Pod,
  Secret,
  timestamp,
} from "kube-controller-runtime";
import { createCertificateAuthority } from "kube-controller-runtime/testing";
import { CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy } from "../../src/api/v1alpha1/kinds.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** Ages are shown in whole units: this allows for a delay of almost a minute. */
const SLACK = 1_000;

/** A namespace with everything that `kubectl coder` has to say something about: some of it good, some not. */
export interface FixtureOptions {
  readonly client: Client;
  readonly namespace: string;
  readonly now: number;
}

type State = readonly [status: "True" | "False" | "Unknown", reason: string, message: string];

const ready: State = ["True", "Serving", "coderd is available, and all objects match the spec."];
const imageTrouble =
  'Pod "provisioner-gpu-7d9c-x2": image "registry.example.com/coder:v2.24.1-gpu" cannot be pulled: 401 Unauthorized. Correct the image, or add the pull secret that its registry requires.';

/** Plays operator, kubelet and people, as far as the API shows it. Ages are the same whenever it is set up. */
export async function setUpFixture({ client, namespace, now }: FixtureOptions): Promise<void> {
  const ago = (minutes: number) => timestamp(now - minutes * MINUTE - SLACK);
  const conditions = (states: Readonly<Record<string, State>>) =>
    Object.entries(states).map(([type, [status, reason, message]]) => ({
      ...{ type, status, reason, message },
      ...{ observedGeneration: 1, lastTransitionTime: ago(5) },
    }));
  const put = async (kind: Kind<never>, name: string, parts: { spec: object; status: object }) => {
    const { apiVersion, kind: kindName } = kind;
    const object = { apiVersion, kind: kindName, metadata: { namespace, name }, spec: parts.spec };
    await client.create(kind, object as never);
    await client.patchStatus(kind, { namespace, name }, { status: parts.status });
  };

  await client.create(Secret, {
    metadata: { namespace, name: "coder-tls" },
    type: "kubernetes.io/tls",
    data: certificateData(now),
  });
  await put(CoderControlPlane as Kind<never>, "coder", {
    spec: {
      image: "ghcr.io/coder/coder:v2.24.1",
      replicas: 2,
      expose: { ingress: { host: "coder.example.com", tls: { secretName: "coder-tls" } } },
    },
    status: {
      ...{
        observedGeneration: 1,
        phase: "Ready",
        readyReplicas: 2,
        version: "v2.24.1",
        licenseTier: "premium",
      },
      url: `http://coder.${namespace}.svc.cluster.local`,
      license: {
        ...{ tier: "premium", trial: false, seatsUsed: 87, seatsAllowed: 120 },
        expires: timestamp(now + 200 * DAY + DAY / 2),
      },
      conditions: conditions({
        DeploymentReady: ["True", "AllReplicasReady", "2 of 2 replicas are ready."],
        Healthy: ["True", "ChecksPass", "coderd's own checks pass."],
        OperatorAccessReady: [
          "True",
          "TokenReady",
          'The operator\'s token is in Secret "coder-operator-token".',
        ],
        BuildsServed: [
          "False",
          "NoMatchingProvisioner",
          `2 builds are waiting, the first since ${ago(5)} for a daemon with the tags region=eu: no provisioner has all of them; the closest match, "linux", lacks region=eu.`,
        ],
        Ready: ready,
      }),
    },
  });
  const pool = { controlPlaneRef: { name: "coder" } };
  const daemons = { observedGeneration: 1, phase: "Ready", organizationName: "default" };
  await put(CoderProvisioner as Kind<never>, "linux", {
    spec: { ...pool, tags: { os: "linux" }, autoscaling: { minReplicas: 1, maxReplicas: 5 } },
    status: {
      ...{ ...daemons, readyReplicas: 3, desiredReplicas: 3, pendingBuilds: 1 },
      conditions: conditions({
        ScalingActive: ["True", "FollowingQueue", "The number of daemons follows coderd's queue."],
        DeploymentReady: ["True", "AllReplicasReady", "3 of 3 replicas are ready."],
        Ready: ["True", "Serving", "The daemons are available, and all objects match the spec."],
      }),
    },
  });
  await put(CoderProvisioner as Kind<never>, "gpu", {
    spec: { ...pool, tags: { os: "linux", gpu: "a100" }, image: "registry.example.com/coder:v2.24.1-gpu" },
    status: {
      ...{ ...daemons, phase: "Pending", readyReplicas: 0 },
      conditions: conditions({
        DeploymentReady: ["False", "Stalled", imageTrouble],
        Stalled: ["True", "PodsNotReady", imageTrouble],
        Ready: ["False", "Stalled", imageTrouble],
      }),
    },
  });
  await put(CoderWorkspaceProxy as Kind<never>, "sydney", {
    spec: { ...pool, expose: { ingress: { host: "sydney.example.com" } } },
    status: {
      ...{ observedGeneration: 1, phase: "Ready", readyReplicas: 1, registered: true, health: "ok" },
      conditions: conditions({ Healthy: ["True", "Reachable", "coderd calls it ok."], Ready: ready }),
    },
  });
  await createOperator(client, { namespace, now });
  await setUpPods(client, namespace, ago);
  await setUpEvents(client, namespace, ago);
}

function certificateData(now: number): Record<string, string> {
  const validity = { from: new Date(now - DAY), to: new Date(now + 61 * DAY + DAY / 2) };
  const { cert, key } = createCertificateAuthority().issue(["coder.example.com"], validity);
  const encoded = (text: string) => Buffer.from(text).toString("base64");
  return { "tls.crt": encoded(cert), "tls.key": encoded(key) };
}

/** The operator as its chart makes it, at work in this namespace. */
export async function createOperator(
  client: Client,
  { namespace, now }: Pick<FixtureOptions, "namespace" | "now">,
): Promise<void> {
  const labels = { "app.kubernetes.io/name": "coder-k8s", "app.kubernetes.io/version": "1.2.3" };
  const containers = [{ name: "operator", image: "example.com/coder-k8s:1.2.3", args: ["controller"] }];
  const template = { metadata: { labels }, spec: { serviceAccountName: "coder-k8s", containers } };
  const spec = { replicas: 2, selector: { matchLabels: labels }, template };
  const name = "coder-k8s";
  await client.create(Deployment, { metadata: { namespace, name, labels }, spec });
  const status = { replicas: 2, readyReplicas: 2, availableReplicas: 2 };
  await client.patchStatus(Deployment, { namespace, name }, { status });
  await client.create(Lease, {
    metadata: { namespace, name: "coder-k8s-controller.coder.com" },
    spec: { holderIdentity: "coder-k8s-7d4f-abcde", renewTime: microTime(now), leaseDurationSeconds: 15 },
  });
}

function microTime(ms: number): string {
  return timestamp(ms).replace("Z", ".000000Z");
}

async function setUpPods(client: Client, namespace: string, ago: (minutes: number) => string): Promise<void> {
  const busy = { "controller.kubernetes.io/pod-deletion-cost": "1000" };
  const pods = [
    { app: "coder-provisioner", of: "linux", name: "provisioner-linux-5f6b-a1", annotations: busy },
    { app: "coder-provisioner", of: "linux", name: "provisioner-linux-5f6b-b2", annotations: busy },
    { app: "coder-provisioner", of: "linux", name: "provisioner-linux-5f6b-c3", annotations: {} },
    { app: "coder-provisioner", of: "gpu", name: "provisioner-gpu-7d9c-x2", annotations: {} },
  ];
  for (const { app, of, name, annotations } of pods) {
    const labels = {
      "app.kubernetes.io/name": app,
      "app.kubernetes.io/instance": of,
      "app.kubernetes.io/managed-by": "coder-k8s",
    };
    const image = of === "gpu" ? "registry.example.com/coder:v2.24.1-gpu" : "ghcr.io/coder/coder:v2.24.1";
    const spec = { containers: [{ name: "provisioner", image }] };
    const state =
      of === "gpu"
        ? { waiting: { reason: "ErrImagePull", message: "401 Unauthorized" } }
        : { running: { startedAt: ago(10) } };
    const container = {
      name: "provisioner",
      image,
      imageID: "",
      ready: of !== "gpu",
      restartCount: 0,
      state,
    };
    const phase = of === "gpu" ? "Pending" : "Running";
    const status = { phase, containerStatuses: [container] };
    await client.create(Pod, { metadata: { namespace, name, labels, annotations }, spec });
    await client.patchStatus(Pod, { namespace, name }, { status });
  }
}

async function setUpEvents(
  client: Client,
  namespace: string,
  ago: (minutes: number) => string,
): Promise<void> {
  const events: readonly (readonly [Kind, string, "Normal" | "Warning", string, string, number])[] = [
    [CoderControlPlane, "coder", "Warning", "NoMatchingProvisioner", "2 builds wait for region=eu.", 5],
    [CoderProvisioner, "gpu", "Warning", "Stalled", imageTrouble, 6],
    [
      CoderProvisioner,
      "linux",
      "Normal",
      "Scaled",
      "Needs 3 daemons: 2 busy, 1 build waiting, 0 reserved idle.",
      9,
    ],
    [CoderControlPlane, "coder", "Normal", "LicenseApplied", "coderd has the license.", 180],
  ];
  for (const [index, [kind, name, type, reason, message, minutes]] of events.entries()) {
    const event: KubeObject & Pick<CoreEvent, "involvedObject" | "type" | "reason" | "message"> = {
      metadata: { namespace, name: `${name}.${index}` },
      involvedObject: { apiVersion: kind.apiVersion, kind: kind.kind, namespace, name },
      ...{ type, reason, message },
    };
    const at = { lastTimestamp: ago(minutes), firstTimestamp: ago(minutes), count: 1 };
    await client.create(CoreEvent, { ...event, ...at, metadata: event.metadata ?? {} });
  }
}
