import type { Kind, KubeObject, Stored } from "kube-controller-runtime";
import { expect } from "vitest";
import { aControlPlane } from "../../../lab/builders.ts";
import type { ControlPlaneSpec } from "../../../src/api/v1alpha1/control-plane.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import type { World } from "../world/world.ts";
import { Stage } from "./stage.ts";

/** Where control planes are tried without a coderd: what they make in the cluster, and what they report. */
export class ChildrenStage extends Stage<CoderControlPlane> {
  constructor(world: World, namespace: string) {
    super({ world, namespace, kind: CoderControlPlane });
  }

  override create(name: string, spec: ControlPlaneSpec = {}): Promise<Stored<CoderControlPlane>> {
    const complete = aControlPlane({ namespace: this.namespace, name, spec });
    return super.create(name, complete.spec ?? {});
  }

  controlPlane(name: string): Promise<Stored<CoderControlPlane>> {
    return this.get(CoderControlPlane, name);
  }

  /** The only child of a kind, found by its labels. */
  async child<T extends KubeObject>(kind: Kind<T>, instance: string): Promise<Stored<T>> {
    const labelSelector = `app.kubernetes.io/instance=${instance}`;
    const { items } = await this.person.list(kind, { namespace: this.namespace, labelSelector });
    const [child, ...others] = items;
    if (!child || others.length > 0) throw new Error(`${instance} has ${items.length} ${kind.plural}`);
    return child;
  }

  /** The control plane once the operator has reported on its present spec, whatever it reports. */
  settled(name: string): Promise<Stored<CoderControlPlane>> {
    return this.eventually(async () => {
      const controlPlane = await this.controlPlane(name);
      expect(controlPlane.status?.observedGeneration).toBe(controlPlane.metadata.generation);
      return controlPlane;
    });
  }

  /** Makes something happen and waits until the operator has looked at it and is done. */
  async whenSeen(happens: () => Promise<unknown>): Promise<void> {
    const before = this.counters.runs;
    await happens();
    await this.eventually(() => expect(this.counters.runs).toBeGreaterThan(before));
    await this.untilIdle();
  }

  override touch(name: string, why: string): Promise<void> {
    const metadata = { annotations: { why } };
    return this.whenSeen(() => this.person.mergePatch(CoderControlPlane, this.ref(name), { metadata }));
  }
}
