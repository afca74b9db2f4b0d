import { blocked, findCondition, fingerprint } from "kube-controller-runtime";
import type { OrganizationSyncSpec } from "../../api/v1alpha1/sign-on.ts";
import { openInside } from "../inside/access.ts";
import { collections, type Inside } from "../inside/coderd.ts";
import { compareWhenDue } from "../inside/due.ts";
import type { Setting } from "../inside/kind.ts";
import { syncSettings } from "../inside/settings.ts";
import { signOnSetting } from "../inside/sign-on.ts";
import { COMPARE_EVERY_MS, UP_TO_DATE, type Verdict } from "../inside/status.ts";
import { clusterURL } from "../workload/exposure/service.ts";
import type { Environment, Snapshot } from "./observe.ts";
import { type ControlPlaneResult, conditionTypes } from "./status.ts";

/** Keeps the deployment's sync of organizations with the identity provider as the spec says, if it says anything. */
export async function ensureOrganizationSync(
  snapshot: Snapshot,
  environment: Environment,
  token: string | undefined,
): Promise<ControlPlaneResult> {
  const { controlPlane: settings, now, object } = snapshot;
  const spec = object.spec?.organizationSync;
  if (!spec) {
    const isReported = findCondition(object.status?.conditions, conditionTypes.organizationSync);
    return isReported ? { noCondition: true } : {};
  }
  if (!token) return blocked("Pending", "Waiting for a ready pod of coderd and for operator access.");
  const url = clusterURL(settings, environment.ports.clusterDomain);
  const controlPlane = { settings, status: object.status ?? {}, url };
  const inside = openInside({ controlPlane, token }, snapshot, environment.ports);
  const { generation } = object.metadata;
  const inputs = fingerprint([`${generation}`, url, token, object.status?.licenseTier]);
  const attempt = { inputs, now };
  const { condition, requeueAfterMs } = await compareWhenDue(
    environment.memory.organizationSync,
    attempt,
    () => compare(organizationSync(spec, inside), { environment, inside, attempt }),
  );
  return { ...(condition && { condition }), ...(requeueAfterMs !== undefined && { requeueAfterMs }) };
}

interface Comparing {
  readonly environment: Environment;
  readonly inside: Inside;
  readonly attempt: { readonly inputs: string; readonly now: number };
}

async function compare(setting: Setting, { environment, inside, attempt }: Comparing): Promise<Verdict> {
  const { memory, own } = environment;
  const { backoff } = memory.organizationSync;
  const { failed, partly } = await syncSettings([setting], {
    inside,
    attempt,
    backoffOf: () => backoff,
    observes: false,
    changed: () =>
      own.emit(
        "Normal",
        "OrganizationSyncSet",
        "Set the sync of organizations in coderd to what the spec says.",
      ),
  });
  const obstacle = failed ?? partly;
  if (obstacle) {
    const { reason, message, retryInMs } = obstacle;
    return { condition: { status: "False", reason, message }, dueInMs: retryInMs };
  }
  const message = "coderd assigns organizations at each sign-on as the spec says.";
  return { condition: { status: "True", reason: UP_TO_DATE, message }, dueInMs: COMPARE_EVERY_MS };
}

function organizationSync({ field, assignDefault, mapping }: OrganizationSyncSpec, inside: Inside): Setting {
  return signOnSetting(
    {
      field: "organizationSync",
      feature: "multiple_organizations",
      collection: collections.organizationSync,
      wanted: { field, assignDefault },
      mapping,
      names: {
        noun: "organization",
        missing: "OrganizationMissing",
        collection: collections.organizations,
        target: ({ id }) => id,
      },
      write: (sync) => inside.client.setOrganizationSync(sync),
    },
    inside,
  );
}
