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
import {
  CoderControlPlane,
  CoderGroup,
  CoderOrganization,
  CoderProvisioner,
  CoderWorkspaceProxy,
} from "../../../api/v1alpha1/kinds.ts";
import type { Cluster, Selection } from "../../cluster.ts";
import type { PersonalCoderd } from "../../coderd.ts";
import type { Gaps } from "../../gaps.ts";
import { OUR_CHILDREN, OUR_EVENTS, podsByOwner } from "../../objects.ts";
import { certificateSecrets } from "./certificates.ts";
import { type Exposable, Gateway, type Gateways, parentsOf } from "./gateways.ts";
import { askQueues, type QueueObservation } from "./queues.ts";

/** The data of a report, read once. */
export interface Gathered {
  readonly controlPlanes: readonly Stored<CoderControlPlane>[];
  readonly provisioners: readonly Stored<CoderProvisioner>[];
  readonly proxies: readonly Stored<CoderWorkspaceProxy>[];
  readonly organizations: readonly Stored<CoderOrganization>[];
  readonly groups: readonly Stored<CoderGroup>[];
  /** Absent if pods could not be listed. */
  readonly podsOf: ReturnType<typeof podsByOwner> | undefined;
  readonly events: readonly Stored<CoreEvent>[];
  /** By `namespace/name`; `undefined` if the Secret does not exist, and no entry if it could not be read. */
  readonly secrets: ReadonlyMap<string, Stored<Secret> | undefined>;
  readonly gateways: Gateways;
  /** By organization ID; absent if coderd was not asked. */
  readonly queues: ReadonlyMap<string, QueueObservation> | undefined;
  /** Whether control planes could be listed. */
  readonly isReadable: boolean;
}

type Belonging = Stored<CoderProvisioner | CoderWorkspaceProxy | CoderOrganization | CoderGroup>;

/** The key of the control plane that an object belongs to. */
export function ownerKeyOf({ metadata: { namespace }, spec }: Belonging): string {
  return keyOf({ namespace, name: spec?.controlPlaneRef?.name ?? "" });
}

/** What to read, and which other APIs to ask. */
interface Interest {
  /** Limits the report to one control plane; absent means all. */
  readonly name?: string | undefined;
  readonly coderd: PersonalCoderd | undefined;
}

/**
 * Seven lists, regardless of the number of control planes, and the Secrets with their certificates. coderd is
 * asked about the pools of a single control plane only, because its variables name one deployment.
 */
export async function gather(
  { client, namespace }: Cluster,
  gaps: Gaps,
  { name, coderd }: Interest,
): Promise<Gathered> {
  const list = <T extends KubeObject>(kind: Kind<T>, selection: Omit<Selection, "namespace"> = {}) =>
    gaps.list(client, kind, { namespace, ...selection });
  const [listed, provisioners = [], proxies = [], organizations = [], groups = [], pods, events = []] =
    await Promise.all([
      list(CoderControlPlane),
      list(CoderProvisioner),
      list(CoderWorkspaceProxy),
      list(CoderOrganization),
      list(CoderGroup),
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
  const belonging = { provisioners, proxies, organizations, groups };
  const found = { controlPlanes, ...belonging, events, secrets, gateways, queues };
  return { ...found, podsOf: pods && podsByOwner(pods), isReadable: listed !== undefined };
}

/** The Gateways that expose the objects, and the Secrets with the certificates of both. */
async function certificates(exposed: readonly Exposable[], client: Client, gaps: Gaps) {
  const gateways = await gaps.named(
    client,
    Gateway,
    exposed.flatMap(parentsOf).map(({ ref }) => ref),
  );
  const named = exposed.flatMap((object) => certificateSecrets(object, gateways));
  return { gateways, secrets: await gaps.getAll(client, Secret, named) };
}
