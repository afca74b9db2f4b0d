import { isDeepStrictEqual } from "node:util";
import { ApiError, type Children, Deployment, type Owner, type Stored } from "kube-controller-runtime";
import type { ContainerPort } from "./certificates.ts";
import type { EnvVar } from "./env.ts";

/*
 * Fields that this version of the operator sets in pod templates and earlier ones did not. They replace no pod by
 * themselves: a Deployment that is there gets them with the next change of its template, and keeps them from then on.
 */

/** Gives the last lines of a container's log as the message of its end, unless the program wrote one itself. */
export const LOG_ON_ERROR = "FallbackToLogsOnError";

/** Where the other replicas of coderd reach this one, as Coder's chart sets it since 2.35. */
export const CLUSTER_HOST: EnvVar = {
  name: "CODER_CLUSTER_HOST",
  valueFrom: { fieldRef: { fieldPath: "status.podIP" } },
};
/** On which replicas of coderd exchange messages after Coder 2.36. */
export const CLUSTER_PORT: ContainerPort = { name: "cluster", containerPort: 6222, protocol: "TCP" };

interface Present {
  readonly owner: Owner;
  readonly deployment: Stored<Deployment> | undefined;
}

/** The Deployment with the additions, or without where nothing else would replace its pods. */
export async function withTimelyAdditions(
  desired: Deployment,
  { owner, deployment }: Present,
  children: Pick<Children, "preview">,
): Promise<Deployment> {
  const plain = deployment && withoutAdditions(desired, deployment);
  if (!plain || isDeepStrictEqual(plain, desired)) return patient(desired, deployment);
  return (await replacesPods(plain, { owner, deployment }, children)) ? patient(desired, deployment) : plain;
}

/**
 * Whether applying it changes the pod template. A field that excludes one of another manager, such as `valueFrom` beside
 * `value`, is refused until the apply takes that one over: it is a change too.
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
 * Where pods become ready by our condition, no old one goes before a new one is ready, unless the spec or a person has
 * chosen another strategy.
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
    // The user may set the same variable to the same value: only our own object is the addition.
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

/** The Deployment as the version before the additions that `present` lacks would have applied it, to the letter. */
export function withoutAdditions(desired: Deployment, present?: Deployment): Deployment {
  const { spec } = desired;
  const pod = spec?.template.spec;
  if (!spec || !pod) return desired;
  const [program = { name: "" }] = present?.spec?.template.spec?.containers ?? [];
  const missing = additions.filter(({ isIn }) => !isIn(program));
  const plain = missing.reduce((kept, addition) => addition.without(kept), pod);
  return { ...desired, spec: { ...spec, template: { ...spec.template, spec: plain } } };
}
