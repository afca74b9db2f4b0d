import { Deployment, Pod, type Stored } from "kube-controller-runtime";
import type { CoderdDeployment, Daemon } from "../../lab/coderd/deployment.ts";
import type { CoderProvisioner } from "../../src/api/v1alpha1/kinds.ts";
import { commonLabels } from "../../src/operator/names.ts";
import { keyVariable } from "../../src/operator/provisioner/deployment.ts";
import { isReadyPod } from "../../src/operator/workload/pods/owned-pods.ts";
import { type ContainerEnd, endedStatus, runningStatus } from "./pod-statuses.ts";
import type { Stage } from "./stages/stage.ts";

type AnyStage = Pick<
  Stage<CoderProvisioner>,
  "get" | "secretValue" | "person" | "clock" | "namespace" | "ref"
>;

/** Plays the pods of provisioners: they run, and their daemons join whichever coderd lets them in. */
export class DaemonPods {
  readonly #stage: AnyStage;
  readonly #coderds: () => readonly CoderdDeployment[];
  /** The names of the pods of each provisioner. */
  readonly #names = new Map<string, string[]>();
  #count = 0;

  constructor(stage: AnyStage, coderds: () => readonly CoderdDeployment[]) {
    this.#stage = stage;
    this.#coderds = coderds;
  }

  /** Pods with the key that the Deployment names take the place of all before them, and their daemons join. */
  async replace(provisioner: string): Promise<void> {
    const { spec } = await this.#stage.get(Deployment, `provisioner-${provisioner}`);
    const variables = spec?.template.spec?.containers[0]?.env ?? [];
    const place = variables.find(({ name }) => name === keyVariable)?.valueFrom?.secretKeyRef;
    const secret = await this.#stage.secretValue(place?.name ?? "", place?.key ?? "");
    await this.end(provisioner);
    for (let count = spec?.replicas ?? 1; count > 0; count--) {
      const { metadata } = await this.start(provisioner);
      for (const coderd of this.#coderds()) coderd.connectDaemon(metadata.name, secret ?? "");
    }
  }

  /** All pods of a provisioner are gone, and their daemons with them. */
  async end(provisioner: string): Promise<void> {
    const names = this.#names.get(provisioner) ?? [];
    this.#names.set(provisioner, []);
    for (const name of names) await this.#stage.person.delete(Pod, this.#stage.ref(name));
    for (const coderd of this.#coderds())
      coderd.daemons = coderd.daemons.filter(({ name }) => !names.includes(name));
  }

  /** One more pod, whose container runs. Whether its daemon joins is for the test to say. */
  async start(provisioner: string): Promise<Stored<Pod>> {
    const { namespace, person, clock } = this.#stage;
    const ref = this.#stage.ref(`provisioner-${provisioner}-${++this.#count}`);
    const labels = commonLabels({
      app: "coder-provisioner",
      identity: { name: provisioner, namespace, uid: "" },
    });
    const set = { apiVersion: "apps/v1", kind: "ReplicaSet", name: `provisioner-${provisioner}-1` };
    const created = await person.create(Pod, {
      metadata: { ...ref, labels, ownerReferences: [{ ...set, uid: "0-1", controller: true }] },
      spec: { containers: [{ name: "provisioner", image: "coder:tests" }] },
    });
    await person.patchStatus(Pod, ref, { status: runningStatus(clock.now()) });
    this.#names.set(provisioner, [...(this.#names.get(provisioner) ?? []), ref.name]);
    return created;
  }

  /** The container of a pod ends. coderd goes on to list its daemon, as it does for a while. */
  async crash(pod: string, end: ContainerEnd): Promise<void> {
    const { person, clock } = this.#stage;
    const { status } = await this.#stage.get(Pod, pod);
    await person.patchStatus(Pod, this.#stage.ref(pod), { status: endedStatus(status, end, clock.now()) });
    for (const daemon of this.#daemonsOf(pod)) daemon.silentSince ??= clock.now();
  }

  /** A kubelet starts the container of a pod again, and its daemon is back at coderd. */
  async rerun(pod: string): Promise<void> {
    const { person, clock } = this.#stage;
    const [container] = (await this.#stage.get(Pod, pod)).status?.containerStatuses ?? [];
    const { lastState, restartCount = 0 } = container ?? {};
    const status = runningStatus(clock.now(), { lastState, restartCount: restartCount + 1 });
    await person.patchStatus(Pod, this.#stage.ref(pod), { status });
    for (const daemon of this.#daemonsOf(pod)) delete daemon.silentSince;
  }

  /** What the controller of Deployments says of a template that was rolled out, by the pods that are ready. */
  async count(provisioner: string): Promise<void> {
    const name = `provisioner-${provisioner}`;
    const { metadata, spec } = await this.#stage.get(Deployment, name);
    const pods = await Promise.all(
      (this.#names.get(provisioner) ?? []).map((pod) => this.#stage.get(Pod, pod)),
    );
    const ready = pods.filter(isReadyPod).length;
    const status = {
      observedGeneration: metadata.generation,
      replicas: Math.max(pods.length, spec?.replicas ?? 1),
      updatedReplicas: Math.max(pods.length, spec?.replicas ?? 1),
      readyReplicas: ready,
      availableReplicas: ready,
      conditions: [{ type: "Progressing", status: "True", reason: "NewReplicaSetAvailable" }],
    };
    await this.#stage.person.patchStatus(Deployment, this.#stage.ref(name), { status });
  }

  #daemonsOf(pod: string): Daemon[] {
    return this.#coderds().flatMap(({ daemons }) => daemons.filter(({ name }) => name === pod));
  }
}
