import { type Client, CoreEvent, keyOf, Pod, type Secret, type Stored } from "kube-controller-runtime";
import { CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy } from "../../../api/v1alpha1/kinds.ts";
import { MANAGED_BY_LABEL, MANAGER_NAME } from "../../../operator/names.ts";
import { type Cluster, listAll } from "../../cluster.ts";
import type { PersonalCoderd } from "../../coderd.ts";
import type { Gaps } from "../../gaps.ts";
import { podsByOwner } from "../../objects.ts";
import { certificateSecrets, readSecrets } from "./certificates.ts";
import { type Exposable, type Gateways, readGateways } from "./gateways.ts";
import { askQueues, type QueueSight } from "./queues.ts";

/** All that a report is made of, read once. */
export interface Gathered {
  readonly controlPlanes: readonly Stored<CoderControlPlane>[];
  readonly provisioners: readonly Stored<CoderProvisioner>[];
  readonly proxies: readonly Stored<CoderWorkspaceProxy>[];
  /** Absent when pods could not be listed. */
  readonly podsOf: ReturnType<typeof podsByOwner> | undefined;
  readonly events: readonly Stored<CoreEvent>[];
  /** By `namespace/name`. */
  readonly secrets: ReadonlyMap<string, Stored<Secret>>;
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
  const where = namespace === undefined ? "all namespaces" : `namespace "${namespace}"`;
  const read = <T>(what: string, reading: Promise<T[]>) => gaps.read(`list ${what} in ${where}`, reading);
  const eventsOfOurs = {
    namespace,
    fieldSelector: `involvedObject.apiVersion=${CoderControlPlane.apiVersion}`,
  };
  const ours = { namespace, labelSelector: `${MANAGED_BY_LABEL}=${MANAGER_NAME}` };
  const [listed, provisioners = [], proxies = [], pods, events = []] = await Promise.all([
    read("codercontrolplanes", listAll(client, CoderControlPlane, { namespace })),
    read("coderprovisioners", listAll(client, CoderProvisioner, { namespace })),
    read("coderworkspaceproxies", listAll(client, CoderWorkspaceProxy, { namespace })),
    read("pods", listAll(client, Pod, ours)),
    read("events", listAll(client, CoreEvent, eventsOfOurs)),
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

async function certificates(exposed: readonly Exposable[], client: Client, gaps: Gaps) {
  const gateways = await readGateways(client, exposed, gaps);
  const named = exposed.flatMap((object) => certificateSecrets(object, gateways));
  return { gateways, secrets: await readSecrets(client, named, gaps) };
}
