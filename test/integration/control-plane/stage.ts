import {
  type Client,
  findCondition,
  isNotFound,
  type Kind,
  type KubeObject,
  type Stored,
} from "kube-controller-runtime";
import {
  type AuditRequest,
  adminClient,
  type ClusterAccess,
  eventually,
  type LocalCluster,
} from "kube-controller-runtime/testing";
import { expect } from "vitest";
import { aControlPlane } from "../../../lab/builders.ts";
import { type RunningOperator, startOperator } from "../../../lab/operator.ts";
import type { Condition } from "../../../src/api/v1alpha1/common.ts";
import type { ControlPlaneSpec } from "../../../src/api/v1alpha1/control-plane.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { SkewedClock } from "../../support/skewed-clock.ts";
import { Witness } from "../../support/witness.ts";

/** Generous, because the machine may be busy; what must be fast is measured by the test that says so. */
const TIME_LIMIT = { withinMs: 20_000 };

/**
 * Where a test plays: a namespace, the operator at work in it and a person who reads and writes there. The operator's
 * clock can be made to jump.
 */
export class Stage implements AsyncDisposable {
  readonly cluster: ClusterAccess;
  readonly namespace: string;
  readonly person: Client;
  readonly operator: RunningOperator;
  readonly clock: SkewedClock;
  readonly witness: Witness;

  /** Use `openStage`. */
  constructor(parts: Pick<Stage, "cluster" | "namespace" | "person" | "operator" | "clock" | "witness">) {
    this.cluster = parts.cluster;
    this.namespace = parts.namespace;
    this.person = parts.person;
    this.operator = parts.operator;
    this.clock = parts.clock;
    this.witness = parts.witness;
  }

  create(name: string, spec?: ControlPlaneSpec): Promise<Stored<CoderControlPlane>> {
    return this.person.create(
      CoderControlPlane,
      aControlPlane({ namespace: this.namespace, name, ...(spec ? { spec } : {}) }),
    );
  }

  /** Merges into the spec; `null` removes a field. */
  change(name: string, spec: object): Promise<Stored<CoderControlPlane>> {
    return this.person.mergePatch(CoderControlPlane, this.ref(name), { spec });
  }

  get<T extends KubeObject>(kind: Kind<T>, name: string): Promise<Stored<T>> {
    return this.person.get(kind, this.ref(name));
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
    return eventually(async () => {
      const controlPlane = await this.controlPlane(name);
      expect(controlPlane.status?.observedGeneration).toBe(controlPlane.metadata.generation);
      return controlPlane;
    }, TIME_LIMIT);
  }

  /** Waits until a condition of the control plane is as expected, and returns it. */
  untilCondition(name: string, type: string, expected: Partial<Condition>): Promise<Condition> {
    return eventually(async () => {
      const condition = findCondition((await this.controlPlane(name)).status?.conditions, type);
      expect(condition).toMatchObject(expected);
      return condition as Condition;
    }, TIME_LIMIT);
  }

  async exists(kind: Kind, name: string): Promise<boolean> {
    try {
      await this.get(kind, name);
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  untilGone(kind: Kind, name: string): Promise<void> {
    return eventually(async () => {
      expect(await this.exists(kind, name), `${kind.kind} ${name} exists`).toBe(false);
    }, TIME_LIMIT);
  }

  /** Makes something happen and waits until the operator has looked at it and is done. */
  async whenSeen(happens: () => Promise<unknown>): Promise<void> {
    const before = this.witness.runs;
    await happens();
    await eventually(() => expect(this.witness.runs).toBeGreaterThan(before), TIME_LIMIT);
    await this.untilIdle();
  }

  /** Gives the operator a reason to look at the control plane, and waits until it did. */
  touch(name: string, why: string): Promise<void> {
    const annotations = { why };
    return this.whenSeen(() =>
      this.person.mergePatch(CoderControlPlane, this.ref(name), { metadata: { annotations } }),
    );
  }

  untilIdle(): Promise<void> {
    return eventually(() => expect(this.witness.running).toBe(0), TIME_LIMIT);
  }

  /** Lets the operator finish what it is at, and then the time pass. */
  async timePasses(ms: number): Promise<void> {
    await this.untilIdle();
    this.clock.jump(ms);
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

  ref(name: string): { namespace: string; name: string } {
    return { namespace: this.namespace, name };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.operator.stop();
  }
}

/** A stage in a namespace of its own, to which its operator keeps. */
export async function openStage(cluster: ClusterAccess, prefix: string): Promise<Stage> {
  const namespace = await cluster.createNamespace(prefix);
  return open(cluster, namespace, [namespace]);
}

/** The same with an operator of the whole cluster: for clusters that nobody else uses. */
export async function openClusterStage(cluster: LocalCluster, prefix: string): Promise<Stage> {
  return open(cluster, await cluster.createNamespace(prefix), []);
}

async function open(
  cluster: ClusterAccess,
  namespace: string,
  namespaces: readonly string[],
): Promise<Stage> {
  const [clock, witness] = [new SkewedClock(), new Witness()];
  const [person, operator] = await Promise.all([
    adminClient(cluster),
    startOperator(cluster, { namespaces, clock, observer: witness }),
  ]);
  return new Stage({ cluster, namespace, person, operator, clock, witness });
}
