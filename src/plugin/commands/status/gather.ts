import { CoreEvent, Pod, type Secret, type Stored } from "kube-controller-runtime";
import { CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy } from "../../../api/v1alpha1/kinds.ts";
import { MANAGED_BY_LABEL, MANAGER_NAME } from "../../../operator/names.ts";
import { type Cluster, listAll } from "../../cluster.ts";
import type { Gaps } from "../../gaps.ts";
import { certificateSecrets, readSecrets } from "./certificates.ts";

/** All that a report is made of, read once. */
export interface Gathered {
  readonly controlPlanes: readonly Stored<CoderControlPlane>[];
  readonly provisioners: readonly Stored<CoderProvisioner>[];
  readonly proxies: readonly Stored<CoderWorkspaceProxy>[];
  readonly pods: readonly Stored<Pod>[] | undefined;
  readonly events: readonly Stored<CoreEvent>[];
  /** By `namespace/name`. */
  readonly secrets: ReadonlyMap<string, Stored<Secret>>;
  /** Whether control planes could be listed at all. */
  readonly isReadable: boolean;
}

/** Five lists, whatever the number of control planes, and the Secrets with their certificates. */
export async function gather({ client, namespace }: Cluster, gaps: Gaps): Promise<Gathered> {
  const where = namespace === undefined ? "all namespaces" : `namespace "${namespace}"`;
  const read = <T>(what: string, reading: Promise<T[]>) => gaps.read(`list ${what} in ${where}`, reading);
  const eventsOfOurs = {
    namespace,
    fieldSelector: `involvedObject.apiVersion=${CoderControlPlane.apiVersion}`,
  };
  const ours = { namespace, labelSelector: `${MANAGED_BY_LABEL}=${MANAGER_NAME}` };
  const [controlPlanes, provisioners = [], proxies = [], pods, events = []] = await Promise.all([
    read("codercontrolplanes", listAll(client, CoderControlPlane, { namespace })),
    read("coderprovisioners", listAll(client, CoderProvisioner, { namespace })),
    read("coderworkspaceproxies", listAll(client, CoderWorkspaceProxy, { namespace })),
    read("pods", listAll(client, Pod, ours)),
    read("events", listAll(client, CoreEvent, eventsOfOurs)),
  ]);
  const named = [...(controlPlanes ?? []), ...proxies].flatMap(certificateSecrets);
  const secrets = await readSecrets(client, named, gaps);
  const isReadable = controlPlanes !== undefined;
  return { controlPlanes: controlPlanes ?? [], provisioners, proxies, pods, events, secrets, isReadable };
}
