import {
  type Client,
  CoreEvent,
  type Kind,
  type KubeObject,
  keyOf,
  Pod,
  Secret,
  type Stored,
} from "kube-controller-runtime";
import { CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy } from "../../../api/v1alpha1/kinds.ts";
import type { Cluster, Selection } from "../../cluster.ts";
import type { PersonalCoderd } from "../../coderd.ts";
import type { Gaps } from "../../gaps.ts";
import { OUR_CHILDREN, OUR_EVENTS, podsByOwner } from "../../objects.ts";
import { certificateSecrets } from "./certificates.ts";
import { type Exposable, Gateway, type Gateways, parentsOf } from "./gateways.ts";
import { askQueues, type QueueSight } from "./queues.ts";

/** All that a report is made of, read once. */
export interface Gathered {
  readonly controlPlanes: readonly Stored<CoderControlPlane>[];
  readonly provisioners: readonly Stored<CoderProvisioner>[];
  readonly proxies: readonly Stored<CoderWorkspaceProxy>[];
  /** Absent when pods could not be listed. */
  readonly podsOf: ReturnType<typeof podsByOwner> | undefined;
  readonly events: readonly Stored<CoreEvent>[];
  /** By `namespace/name`; `undefined` where there is none, and no entry where it could not be read. */
  readonly secrets: ReadonlyMap<string, Stored<Secret> | undefined>;
  readonly gateways: Gateways;
  /** By the id of the organization; absent when coderd was not asked. */
  readonly queues: ReadonlyMap<string, QueueSight> | undefined;
  /** Whether control planes could be listed at all. */
  readonly isReadable: boolean;
}

type Belonging = Stored<CoderProvisioner> | Stored<CoderWorkspaceProxy>;

/** The key of the control plane that an object belongs to. */
export function ownerKeyOf({ metadata: { namespace }, spec }: Belonging): string {
  return keyOf({ namespace, name: spec?.controlPlaneRef?.name ?? "" });
}

/** What to look at, and whom else to ask. */
interface Interest {
  /** Of one control plane only; all in sight when absent. */
  readonly name?: string | undefined;
  readonly coderd: PersonalCoderd | undefined;
}

/**
 * Five lists, whatever the number of control planes, and the Secrets with their certificates. coderd is asked about the
 * pools of a single control plane: the variables that name it name one.
 */
export async function gather(
  { client, namespace }: Cluster,
  gaps: Gaps,
  { name, coderd }: Interest,
): Promise<Gathered> {
  const list = <T extends KubeObject>(kind: Kind<T>, selection: Omit<Selection, "namespace"> = {}) =>
    gaps.list(client, kind, { namespace, ...selection });
  const [listed, provisioners = [], proxies = [], pods, events = []] = await Promise.all([
    list(CoderControlPlane),
    list(CoderProvisioner),
    list(CoderWorkspaceProxy),
    list(Pod, OUR_CHILDREN),
    list(CoreEvent, OUR_EVENTS),
  ]);
  const controlPlanes = (listed ?? []).filter(({ metadata }) => name === undefined || metadata.name === name);
  const keys = new Set(controlPlanes.map(({ metadata }) => keyOf(metadata)));
  const isTheirs = (object: Belonging) => keys.has(ownerKeyOf(object));
  const [{ gateways, secrets }, queues] = await Promise.all([
    certificates([...controlPlanes, ...proxies.filter(isTheirs)], client, gaps),
    coderd && keys.size === 1 ? askQueues(provisioners.filter(isTheirs), coderd, gaps) : undefined,
  ]);
  const found = { controlPlanes, provisioners, proxies, events, secrets, gateways, queues };
  return { ...found, podsOf: pods && podsByOwner(pods), isReadable: listed !== undefined };
}

/** The Gateways behind which objects are exposed, and the Secrets with the certificates of both. */
async function certificates(exposed: readonly Exposable[], client: Client, gaps: Gaps) {
  const gateways = await gaps.named(
    client,
    Gateway,
    exposed.flatMap(parentsOf).map(({ ref }) => ref),
  );
  const named = exposed.flatMap((object) => certificateSecrets(object, gateways));
  return { gateways, secrets: await gaps.lookedUp(client, Secret, named) };
}
