import { Deployment, Pod } from "kube-controller-runtime";
import { StaticAccounts } from "../../../lab/coderd/accounts.ts";
import type { CoderdDeployment, DeploymentOptions } from "../../../lab/coderd/deployment.ts";
import { commonLabels, identityOf } from "../../../src/operator/names.ts";
import type { Stage } from "../control-plane/stage.ts";

const TOKEN = "brokenobjs-0123456789abcdefghijkl";

type ContainerStatus = NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>[number];

/** What happens around broken objects. No controllers run here, so Deployments and pods do what the fixture says. */
export class Fixture {
  readonly stage: Stage;

  constructor(stage: Stage) {
    this.stage = stage;
  }

  /** A coderd without a license behind the Service of a control plane, and a token for it. */
  async coderd(name: string, options: DeploymentOptions = {}): Promise<CoderdDeployment> {
    const accounts = new StaticAccounts();
    accounts.add(TOKEN, { owner: true });
    const host = `${name}.${this.stage.namespace}.svc.cluster.local`;
    await this.stage.putSecret("owner-token", { token: TOKEN });
    return this.stage.world.coderds.add({ accounts, ...options }, { host });
  }

  /** The pods of a control plane are ready. */
  serve(name: string): Promise<void> {
    return this.stage.markReady(name);
  }

  /** The one pod of a control plane is in this state, and its Deployment waits for it. */
  async pod(name: string, state: Partial<ContainerStatus>): Promise<void> {
    const { stage } = this;
    const { metadata, spec } = await stage.eventually(() => stage.get(Deployment, name));
    const { person } = stage;
    await person.patchStatus(Deployment, metadata, {
      status: {
        observedGeneration: metadata.generation,
        replicas: 1,
        updatedReplicas: 1,
        unavailableReplicas: 1,
      },
    });
    const pod = stage.ref(`${name}-6d5f4c9b7-x2v8k`);
    const parent = {
      app: "coder-control-plane" as const,
      identity: identityOf(await stage.controlPlane(name)),
    };
    const replicaSet = {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      name: `${name}-6d5f4c9b7`,
      uid: metadata.uid,
    };
    const [container] = spec?.template.spec?.containers ?? [];
    const { name: containerName = "", image = "" } = container ?? {};
    await person.create(Pod, {
      metadata: {
        ...pod,
        labels: commonLabels(parent),
        ownerReferences: [{ ...replicaSet, controller: true }],
      },
      spec: { containers: [{ name: containerName, image }] },
    });
    const status = { name: containerName, image, imageID: "", ready: false, restartCount: 3, ...state };
    await person.patchStatus(Pod, pod, { status: { phase: "Pending", containerStatuses: [status] } });
  }
}
