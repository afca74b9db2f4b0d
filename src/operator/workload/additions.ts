import { isDeepStrictEqual } from "node:util";
import { ApiError, type Children, Deployment, type Owner, type Stored } from "kube-controller-runtime";

/*
 * Fields that this version of the operator sets in pod templates and earlier ones did not. They replace no pod by
 * themselves: a Deployment that is there gets them with the next change of its template, and keeps them from then on.
 */

/** Gives the last lines of a container's log as the message of its end, unless the program wrote one itself. */
export const LOG_ON_ERROR = "FallbackToLogsOnError";

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
  if (!deployment || hasAdditions(deployment)) return patient(desired, deployment);
  const plain = withoutAdditions(desired);
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

function hasAdditions({ spec }: Deployment): boolean {
  return spec?.template.spec?.containers[0]?.terminationMessagePolicy === LOG_ON_ERROR;
}

/** The Deployment as the version before the additions would have applied it, to the letter. */
export function withoutAdditions(desired: Deployment): Deployment {
  const { spec } = desired;
  const pod = spec?.template.spec;
  if (!spec || !pod) return desired;
  const { readinessGates: _, ...kept } = pod;
  const containers = pod.containers.map(({ terminationMessagePolicy: _, ...container }) => container);
  return { ...desired, spec: { ...spec, template: { ...spec.template, spec: { ...kept, containers } } } };
}
