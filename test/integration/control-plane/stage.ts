import type { AuditRequest, ClusterAccess, LocalCluster } from "kube-controller-runtime/testing";
import { ChildrenStage } from "../../support/stages/children.ts";
import { openRealWorld, type RealWorld } from "../../support/world/real.ts";

/** A stage of control planes in a real cluster, whose audit log counts what the operator wrote. */
export class Stage extends ChildrenStage {
  readonly cluster: ClusterAccess;

  /** Use `openStage`. */
  constructor(world: RealWorld, namespace: string) {
    super(world, namespace);
    this.cluster = world.cluster;
  }

  /** What the operator wrote in this namespace, events included, as the API server counted it. */
  async writes(): Promise<AuditRequest[]> {
    const requests = await this.cluster.auditRequests();
    return requests.filter(
      ({ user, namespace, verb, stage }) =>
        user === this.cluster.operator.user &&
        namespace === this.namespace &&
        stage === "ResponseComplete" &&
        !["get", "list", "watch"].includes(verb),
    );
  }
}

/** A stage in a namespace of its own, to which its operator keeps. */
export async function openStage(cluster: ClusterAccess, prefix: string): Promise<Stage> {
  const stage = await open(cluster, prefix);
  await stage.startOperator();
  return stage;
}

/** The same with an operator of the whole cluster: for exclusive clusters. */
export async function openClusterStage(cluster: LocalCluster, prefix: string): Promise<Stage> {
  const stage = await open(cluster, prefix);
  await stage.startOperator({ namespaces: [] });
  return stage;
}

async function open(cluster: ClusterAccess, prefix: string): Promise<Stage> {
  const world = await openRealWorld(cluster);
  return new Stage(world, await world.createNamespace(prefix));
}
