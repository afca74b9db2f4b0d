import { type Client, Service, type Stored } from "kube-controller-runtime";
import type { CoderControlPlane } from "../../../api/v1alpha1/kinds.ts";
import { APPS, commonLabels, identityOf, type Labels } from "../../../operator/names.ts";
import { CommandError, type Context } from "../../command.ts";

/** The name that Coder's chart gives its Service and Ingress, regardless of the name of the release. */
export const CHART_NAME = "coder";

/** Label of pods while the Service moves from the operator's labels to those of the chart. */
const RELEASE_LABEL = "coder.com/released-to";

/** The object to hand over, and the target release. */
export interface ReleaseTarget {
  readonly client: Client;
  readonly context: Context;
  readonly object: Stored<CoderControlPlane>;
  readonly ref: { readonly namespace: string; readonly name: string };
  readonly release: string;
  /** Labels by which the operator's Deployment and Service select pods. */
  readonly operatorLabels: Labels;
  /** Labels by which the chart's Deployment and Service select pods. */
  readonly helmLabels: Labels;
  /** A label that pods have in addition to either of these. */
  readonly transitionLabels: Labels;
}

export function releaseTarget(
  client: Client,
  context: Context,
  given: {
    readonly object: Stored<CoderControlPlane>;
    readonly release: string;
    readonly nameOverride: string;
  },
): ReleaseTarget {
  const { object, release, nameOverride } = given;
  const identity = identityOf(object);
  return {
    ...{ client, context, object, release },
    ref: { namespace: identity.namespace, name: identity.name },
    operatorLabels: commonLabels({ app: APPS.CoderControlPlane, identity }),
    helmLabels: { "app.kubernetes.io/name": nameOverride, "app.kubernetes.io/instance": release },
    transitionLabels: { [RELEASE_LABEL]: "helm" },
  };
}

const POLL_MS = 500;
const TIMEOUT_MS = 60_000;

/** The error message of a wait, and its timeout. */
interface Wait {
  readonly what: string;
  readonly timeoutMs?: number;
}

/** Resolves with the first result that is not `undefined`; throws on timeout. */
export async function waitFor<T>(
  { context: { clock, signal } }: Pick<ReleaseTarget, "context">,
  { what, timeoutMs = TIMEOUT_MS }: Wait,
  check: () => Promise<T | undefined>,
): Promise<T> {
  const until = clock.monotonic() + timeoutMs;
  for (;;) {
    const found = await check();
    if (found !== undefined) return found;
    if (clock.monotonic() >= until)
      throw new CommandError(
        `${what} within ${timeoutMs / 1_000} s. The pods keep running; repeat the command to continue.`,
      );
    await clock.sleep(POLL_MS, signal);
  }
}

/** The current Service. */
export function serviceOf({ client, ref }: ReleaseTarget): Promise<Stored<Service>> {
  return client.get(Service, ref);
}
