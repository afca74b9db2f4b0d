import { CoreEvent, Pod, type Stored } from "kube-controller-runtime";
import {
  CoderControlPlane,
  CoderGroup,
  CoderOrganization,
  CoderProvisioner,
} from "../../../api/v1alpha1/kinds.ts";
import type { Cluster } from "../../cluster.ts";
import type { Gaps } from "../../gaps.ts";
import { OUR_CHILDREN, podsByOwner } from "../../objects.ts";
import { timeOf } from "../status/parts.ts";

/** The objects among which causes are searched: those of one namespace. */
export interface Snapshot {
  readonly controlPlanes: readonly Stored<CoderControlPlane>[];
  readonly provisioners: readonly Stored<CoderProvisioner>[];
  readonly organizations: readonly Stored<CoderOrganization>[];
  readonly groups: readonly Stored<CoderGroup>[];
  readonly podsOf: ReturnType<typeof podsByOwner>;
  /** Whether pods could be listed. */
  readonly arePodsKnown: boolean;
  /** The warnings, newest first. */
  readonly warnings: readonly Stored<CoreEvent>[];
  readonly now: number;
  /** Whether control planes and provisioners could be listed. */
  readonly isReadable: boolean;
}

export async function readSnapshot(
  { client, homeNamespace: namespace }: Cluster,
  gaps: Gaps,
  now: number,
): Promise<Snapshot> {
  const [controlPlanes, provisioners, organizations = [], groups = [], pods, warnings = []] =
    await Promise.all([
      gaps.list(client, CoderControlPlane, { namespace }),
      gaps.list(client, CoderProvisioner, { namespace }),
      gaps.list(client, CoderOrganization, { namespace }),
      gaps.list(client, CoderGroup, { namespace }),
      gaps.list(client, Pod, { namespace, ...OUR_CHILDREN }),
      gaps.list(client, CoreEvent, { namespace, fieldSelector: "type=Warning" }),
    ]);
  return {
    controlPlanes: controlPlanes ?? [],
    provisioners: provisioners ?? [],
    organizations,
    groups,
    isReadable: controlPlanes !== undefined && provisioners !== undefined,
    podsOf: podsByOwner(pods ?? []),
    arePodsKnown: pods !== undefined,
    warnings: warnings.sort((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1)),
    now,
  };
}
