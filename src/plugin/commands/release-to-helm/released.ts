import { type Client, Service, type Stored } from "kube-controller-runtime";
import type { CoderControlPlane } from "../../../api/v1alpha1/kinds.ts";
import { APPS, commonLabels, identityOf, type Labels } from "../../../operator/names.ts";
import { CommandError, type Context } from "../../command.ts";

/** The name that Coder's chart gives its Service and its Ingress, whatever the release is called. */
export const CHART_NAME = "coder";

/** On pods while the Service moves from the operator's labels to those of the chart. */
const RELEASED_LABEL = "coder.com/released-to";

/** What is handed over, and to which release. */
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
  /** A label that pods have beside either of these. */
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

/** What is waited for, as a sentence about its absence, and for how long. */
interface Wait {
  readonly what: string;
  readonly withinMs?: number;
}

/** Resolves with the first answer that is not `undefined`; throws when none comes in time. */
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
        `${what} within ${withinMs / 1_000} s. The pods serve on; run the command again to continue.`,
      );
    await clock.sleep(LOOK_MS, signal);
  }
}

/** The Service as it is now. */
export function serviceOf({ client, ref }: Released): Promise<Stored<Service>> {
  return client.get(Service, ref);
}
