import { type Client, Service, type Stored } from "kube-controller-runtime";
import type { CoderControlPlane } from "../../../api/v1alpha1/kinds.ts";
import { APPS, commonLabels, identityOf, type Labels } from "../../../operator/names.ts";
import { CommandError, type Context } from "../../command.ts";

/** The name that Coder's chart gives its Service and Ingress, regardless of the name of the release. */
export const CHART_NAME = "coder";

/** Label of pods while the Service moves from the operator's labels to those of the chart. */
const RELEASED_LABEL = "coder.com/released-to";

/** The object to hand over, and the target release. */
export interface Released {
  readonly client: Client;
  readonly context: Context;
  readonly object: Stored<CoderControlPlane>;
  readonly ref: { readonly namespace: string; readonly name: string };
  readonly release: string;
  /** Labels by which the operator's Deployment and Service select pods. */
  readonly ours: Labels;
  /** Labels by which the chart's Deployment and Service select pods. */
  readonly helms: Labels;
  /** A label that pods have in addition to either of these. */
  readonly both: Labels;
}

export function releasedOf(
  client: Client,
  context: Context,
  given: {
    readonly object: Stored<CoderControlPlane>;
    readonly release: string;
    readonly nameOverride: string;
  },
): Released {
  const { object, release, nameOverride } = given;
  const identity = identityOf(object);
  return {
    ...{ client, context, object, release },
    ref: { namespace: identity.namespace, name: identity.name },
    ours: commonLabels({ app: APPS.CoderControlPlane, identity }),
    helms: { "app.kubernetes.io/name": nameOverride, "app.kubernetes.io/instance": release },
    both: { [RELEASED_LABEL]: "helm" },
  };
}

const LOOK_MS = 500;
const PATIENCE_MS = 60_000;

/** The error message of a wait, and its timeout. */
interface Wait {
  readonly what: string;
  readonly withinMs?: number;
}

/** Resolves with the first result that is not `undefined`; throws on timeout. */
export async function awaited<T>(
  { context: { clock, signal } }: Pick<Released, "context">,
  { what, withinMs = PATIENCE_MS }: Wait,
  look: () => Promise<T | undefined>,
): Promise<T> {
  const until = clock.monotonic() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (clock.monotonic() >= until)
      throw new CommandError(
        `${what} within ${withinMs / 1_000} s. The pods keep running; repeat the command to continue.`,
      );
    await clock.sleep(LOOK_MS, signal);
  }
}

/** The current Service. */
export function serviceOf({ client, ref }: Released): Promise<Stored<Service>> {
  return client.get(Service, ref);
}
