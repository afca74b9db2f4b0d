import { CoreEvent, Pod, type Stored } from "kube-controller-runtime";
import { CoderControlPlane, CoderProvisioner } from "../../../api/v1alpha1/kinds.ts";
import { MANAGED_BY_LABEL, MANAGER_NAME } from "../../../operator/names.ts";
import { type Cluster, listAll } from "../../cluster.ts";
import type { Gaps } from "../../gaps.ts";
import { podsByOwner } from "../../objects.ts";
import { timeOf } from "../status/parts.ts";

/** Where causes are looked for: the namespace of what was asked about. */
export interface Scene {
  readonly controlPlanes: readonly Stored<CoderControlPlane>[];
  readonly provisioners: readonly Stored<CoderProvisioner>[];
  readonly podsOf: ReturnType<typeof podsByOwner>;
  /** The warnings, the newest first. */
  readonly warnings: readonly Stored<CoreEvent>[];
  readonly now: number;
  /** Whether control planes and provisioners could be listed. */
  readonly isReadable: boolean;
}

export async function readScene({ client, homeNamespace }: Cluster, gaps: Gaps, now: number): Promise<Scene> {
  const namespace = homeNamespace;
  const read = <T>(what: string, reading: Promise<T[]>) =>
    gaps.read(`list ${what} in namespace "${namespace}"`, reading);
  const ours = { namespace, labelSelector: `${MANAGED_BY_LABEL}=${MANAGER_NAME}` };
  const [controlPlanes, provisioners, pods = [], warnings = []] = await Promise.all([
    read("codercontrolplanes", listAll(client, CoderControlPlane, { namespace })),
    read("coderprovisioners", listAll(client, CoderProvisioner, { namespace })),
    read("pods", listAll(client, Pod, ours)),
    read("events", listAll(client, CoreEvent, { namespace, fieldSelector: "type=Warning" })),
  ]);
  return {
    controlPlanes: controlPlanes ?? [],
    provisioners: provisioners ?? [],
    isReadable: controlPlanes !== undefined && provisioners !== undefined,
    podsOf: podsByOwner(pods),
    warnings: warnings.sort((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1)),
    now,
  };
}
