import { isDeepStrictEqual } from "node:util";
import { ApiError, type Children, Deployment, type Owner, type Stored } from "kube-controller-runtime";
import type { ContainerPort } from "./certificates.ts";
import type { EnvVar } from "./env.ts";

/*
 * Fields of pod templates that earlier versions of the operator did not set. They never cause a rollout: an
 * existing Deployment gets them with the next change of its template, and then keeps them.
 */

/** Uses the last log lines of a container as its termination message, unless the program writes one. */
export const LOG_ON_ERROR = "FallbackToLogsOnError";

/** Address of this replica for other replicas of coderd, as in Coder's chart since 2.35. */
export const CLUSTER_HOST: EnvVar = {
  name: "CODER_CLUSTER_HOST",
  valueFrom: { fieldRef: { fieldPath: "status.podIP" } },
};
/** Port for messages between replicas of coderd after Coder 2.36. */
export const CLUSTER_PORT: ContainerPort = { name: "cluster", containerPort: 6222, protocol: "TCP" };

interface Present {
  readonly owner: Owner;
  readonly deployment: Stored<Deployment> | undefined;
}

/** The Deployment with the additions, or without them if nothing else would replace its pods. */
export async function withAdditions(
  desired: Deployment,
  { owner, deployment }: Present,
  children: Pick<Children, "preview">,
): Promise<Deployment> {
  const plain = deployment && withoutAdditions(desired, deployment);
  if (!plain || isDeepStrictEqual(plain, desired)) return patient(desired, deployment);
  return (await replacesPods(plain, { owner, deployment }, children)) ? patient(desired, deployment) : plain;
}

/**
 * Whether applying it changes the pod template. A field that conflicts with one of another manager, such as
 * `valueFrom` and `value`, is rejected until the apply takes it over, so it counts as a change.
 */
async function replacesPods(
  plain: Deployment,
  { owner, deployment }: Present,
  children: Pick<Children, "preview">,
): Promise<boolean> {
  try {
    const preview = await children.preview(Deployment, plain, owner);
    return preview !== undefined && !isDeepStrictEqual(preview.spec?.template, deployment?.spec?.template);
  } catch (error) {
    if (error instanceof ApiError && error.reason === "Invalid") return true;
    throw error;
  }
}

type Strategy = NonNullable<NonNullable<Deployment["spec"]>["strategy"]>;

const rolling = (maxUnavailable: number | string): Strategy => ({
  type: "RollingUpdate",
  rollingUpdate: { maxUnavailable, maxSurge: "25%" },
});
const KUBERNETES_DEFAULT = rolling("25%");
const KEEP_OLD = rolling(0);

/**
 * With a readiness gate, no old pod is deleted before a new one is ready, unless the spec or a user sets a
 * different strategy.
 */
function patient(desired: Deployment, present: Deployment | undefined): Deployment {
  const { spec } = desired;
  const chosen = present?.spec?.strategy;
  const isChosen = chosen && ![KUBERNETES_DEFAULT, KEEP_OLD].some((each) => isDeepStrictEqual(each, chosen));
  if (!spec?.template.spec?.readinessGates || spec.strategy || isChosen) return desired;
  return { ...desired, spec: { ...spec, strategy: KEEP_OLD } };
}

type PodSpec = NonNullable<NonNullable<Deployment["spec"]>["template"]["spec"]>;
type Container = PodSpec["containers"][number];

interface Addition {
  readonly isIn: (program: Container) => boolean;
  readonly without: (pod: PodSpec) => PodSpec;
}

const withContainers = (pod: PodSpec, change: (container: Container) => Container): PodSpec => ({
  ...pod,
  containers: pod.containers.map(change),
});

const additions: readonly Addition[] = [
  {
    isIn: ({ terminationMessagePolicy }) => terminationMessagePolicy === LOG_ON_ERROR,
    without: ({ readinessGates: _, ...pod }) =>
      withContainers(pod, ({ terminationMessagePolicy: _, ...container }) => container),
  },
  {
    isIn: ({ env = [] }) => env.some(({ name }) => name === CLUSTER_HOST.name),
    // The user may set the same variable to the same value, so only the operator's own object is removed.
    without: (pod) => withContainers(pod, (container) => without(container, "env", CLUSTER_HOST)),
  },
  {
    isIn: ({ ports = [] }) => ports.some(({ name }) => name === CLUSTER_PORT.name),
    without: (pod) => withContainers(pod, (container) => without(container, "ports", CLUSTER_PORT)),
  },
];

function without(container: Container, field: "env" | "ports", entry: object): Container {
  const entries = container[field];
  return entries ? { ...container, [field]: entries.filter((each: object) => each !== entry) } : container;
}

/** The Deployment exactly as a version without the additions that `present` lacks would apply it. */
export function withoutAdditions(desired: Deployment, present?: Deployment): Deployment {
  const { spec } = desired;
  const pod = spec?.template.spec;
  if (!spec || !pod) return desired;
  const [program = { name: "" }] = present?.spec?.template.spec?.containers ?? [];
  const missing = additions.filter(({ isIn }) => !isIn(program));
  const plain = missing.reduce((kept, addition) => addition.without(kept), pod);
  return { ...desired, spec: { ...spec, template: { ...spec.template, spec: plain } } };
}
