import { findCondition, type Kind, type Stored } from "kube-controller-runtime";
import { expect } from "vitest";
import type { Condition } from "../../../src/api/v1alpha1/common.ts";
import { CoderGroup, CoderOrganization } from "../../../src/api/v1alpha1/kinds.ts";
import type { EntityObject } from "../../../src/operator/inside/object.ts";
import type { World } from "../world/world.ts";
import { type Coderd, ServedStage } from "./served.ts";

export type { Coderd };

const MINUTE_MS = 60_000;

/** Where what is inside of coderd is tried: control planes that serve, and the organizations and groups that they have. */
export class InsideStage extends ServedStage<CoderGroup> {
  /** Use `openInsideStage`. */
  constructor(world: World, namespace: string) {
    super({ world, namespace, kind: CoderGroup });
  }

  /** Creates a group of this name at a control plane. */
  group(name: string, controlPlane: string, spec: object = {}): Promise<Stored<CoderGroup>> {
    return this.create(name, { controlPlaneRef: { name: controlPlane }, ...spec });
  }

  /** Creates an organization of this name at a control plane. */
  organization(name: string, controlPlane: string, spec: object = {}): Promise<Stored<CoderOrganization>> {
    const { apiVersion, kind } = CoderOrganization;
    return this.person.create(CoderOrganization, {
      apiVersion,
      kind,
      metadata: this.ref(name),
      spec: { controlPlaneRef: { name: controlPlane }, ...spec },
    });
  }

  changeOrganization(name: string, spec: object): Promise<Stored<CoderOrganization>> {
    return this.person.mergePatch(CoderOrganization, this.ref(name), { spec });
  }

  /** Waits until an object is as its spec says, and returns the id of its entity. */
  untilReady(name: string, kind: Kind<EntityObject> = CoderGroup): Promise<string> {
    return this.eventually(async () => {
      const { metadata, status } = await this.get(kind, name);
      const ready = findCondition(status?.conditions, "Ready");
      expect(ready).toMatchObject({ status: "True", observedGeneration: metadata.generation });
      return status?.id ?? "";
    });
  }

  /** Waits for a condition of an organization, and returns it. */
  untilOrganization(name: string, type: string, expected: Partial<Condition>): Promise<Condition> {
    return this.eventually(async () => {
      const { status } = await this.get(CoderOrganization, name);
      const condition = findCondition(status?.conditions, type);
      expect(condition).toMatchObject(expected);
      return condition as Condition;
    });
  }

  /** What people do in coderd, and time enough for the operator to ask again. */
  async byHand<R>(change: () => R): Promise<R> {
    const changed = change();
    await this.timePasses(MINUTE_MS + 1_000);
    return changed;
  }

  /** Lets the operator compare everything once more. */
  untilCompared(): Promise<void> {
    return this.timePasses(11 * MINUTE_MS);
  }

  /** The reasons of the events of an object. */
  async eventReasons(name: string): Promise<string[]> {
    return (await this.events(name)).map(({ reason = "" }) => reason);
  }

  /** Waits for an event of that reason, and returns its message. */
  untilEvent(name: string, reason: string): Promise<string> {
    return this.eventually(async () => {
      const found = (await this.events(name)).filter((event) => event.reason === reason);
      expect(found.length, `events ${reason} of ${name}`).toBeGreaterThan(0);
      return found.at(-1)?.message ?? "";
    });
  }
}

export async function openInsideStage(world: World, prefix: string): Promise<InsideStage> {
  const stage = new InsideStage(world, await world.createNamespace(prefix));
  await stage.startOperator();
  return stage;
}
