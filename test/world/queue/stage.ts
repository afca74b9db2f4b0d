import { Pod, timestamp } from "kube-controller-runtime";
import type { CoderdDeployment, Daemon } from "../../../lab/coderd/deployment.ts";
import type { OperatorOptions, RunningOperator } from "../../../lab/operator.ts";
import { queueController } from "../../../src/operator/autoscaling/controller.ts";
import { commonLabels } from "../../../src/operator/names.ts";
import { provisionerController } from "../../../src/operator/provisioner/controller.ts";
import { openTenancy } from "../../../src/operator/workload/rbac/tenancy.ts";
import { ProvisionerStage } from "../../support/stages/provisioner.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

/** A stage on which the queue is looked at, beside the controller of provisioners. The tests play the pods. */
export class QueueStage extends ProvisionerStage {
  override startOperator(options: OperatorOptions = {}): Promise<RunningOperator> {
    return super.startOperator({
      controllers: (ports) => [provisionerController(ports, openTenancy), queueController(ports)],
      ...options,
    });
  }

  /** A pod of a provisioner whose daemon runs and has joined coderd. */
  async startPod(name: string, provisioner: string, coderd: CoderdDeployment): Promise<Daemon> {
    await this.createPod(name, provisioner);
    return this.joinPod(name, provisioner, coderd);
  }

  /** A pod that waits for its container. */
  async createPod(name: string, provisioner: string): Promise<void> {
    const identity = { name: provisioner, namespace: this.namespace, uid: "" };
    const labels = commonLabels({ app: "coder-provisioner", identity });
    const replicaSet = { apiVersion: "apps/v1", kind: "ReplicaSet", name: `provisioner-${provisioner}-1` };
    const ownerReferences = [{ ...replicaSet, uid: "replica-set", controller: true }];
    await this.person.create(Pod, {
      ...Pod,
      metadata: { ...this.ref(name), labels, ownerReferences },
    } as Pod);
  }

  /** The container of a pod runs, and its daemon joins coderd. */
  async joinPod(name: string, provisioner: string, coderd: CoderdDeployment): Promise<Daemon> {
    const startedAt = timestamp(this.clock.now());
    const status = {
      conditions: [{ type: "Ready", status: "True" }],
      containerStatuses: [{ state: { running: { startedAt } } }],
    };
    await this.person.patchStatus(Pod, this.ref(name), { status });
    const keyName = (await this.status(provisioner)).provisionerKeyName;
    const key = coderd.keys.find((candidate) => candidate.name === keyName);
    const daemon = key && coderd.connectDaemon(name, key.plaintext);
    if (!daemon) throw new Error(`no key lets ${name} in`);
    return daemon;
  }
}

export async function openQueueStage(prefix: string): Promise<QueueStage> {
  const world = new MemoryWorld();
  const stage = new QueueStage(world, await world.createNamespace(prefix));
  await stage.startOperator();
  return stage;
}
