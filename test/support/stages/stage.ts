import {
  type Client,
  CoreEvent,
  Deployment,
  findCondition,
  isNotFound,
  type Kind,
  type KubeObject,
  Secret,
  type Stored,
} from "kube-controller-runtime";
import { expect } from "vitest";
import { launchOperator, type OperatorOptions, type RunningOperator } from "../../../lab/operator.ts";
import type { Condition } from "../../../src/api/v1alpha1/common.ts";
import { CountingMetrics } from "../counting-metrics.ts";
import { Secrets, textOfError } from "../leaks.ts";
import type { World } from "../world/world.ts";

/** Generous, because the machine may be busy; what must be fast is measured by the test that says so. */
export const TIME_LIMIT = { withinMs: 20_000 };

/** The operator reports on a starting object after a second. */
const PUT_OFF_MS = 2_000;

/** An object of ours. */
interface Subject extends KubeObject {
  spec?: object;
  status?: { conditions?: readonly Condition[]; observedGeneration?: number };
}

export interface StageParts<T extends Subject> {
  readonly world: World;
  readonly namespace: string;
  /** The kind of the objects that tests on this stage are about. */
  readonly kind: Kind<T>;
}

/**
 * Where a test plays: a namespace of some world, operators at work in it, and a person who reads and writes there.
 * When it closes, all that the operators ever said is searched for secrets.
 */
export abstract class Stage<T extends Subject> implements AsyncDisposable {
  readonly world: World;
  readonly namespace: string;
  readonly counters = new CountingMetrics();
  readonly secrets = new Secrets();
  readonly #kind: Kind<T>;
  readonly #operators: RunningOperator[] = [];
  #hurriedAfter = 0;

  constructor({ world, namespace, kind }: StageParts<T>) {
    this.world = world;
    this.namespace = namespace;
    this.#kind = kind;
  }

  get clock(): World["clock"] {
    return this.world.clock;
  }

  get person(): Client {
    return this.world.person;
  }

  /** The operator that was started last. */
  get operator(): RunningOperator {
    const operator = this.#operators.at(-1);
    if (!operator) throw new Error("no operator was started");
    return operator;
  }

  /** Another process of the operator, which runs until it is stopped. */
  async startOperator(options: OperatorOptions = {}): Promise<RunningOperator> {
    const operator = await launchOperator(await this.world.operatorEnvironment(), {
      namespaces: [this.namespace],
      coderdRoute: this.world.coderds.route,
      clock: this.clock,
      observer: this.counters,
      tokenOrphaned: () => this.counters.tokenOrphaned(),
      entityOrphaned: () => this.counters.entityOrphaned(),
      ...options,
    });
    this.#operators.push(operator);
    return operator;
  }

  /** Ends the operator and starts another, which has forgotten everything. */
  async restart(): Promise<void> {
    await this.operator.stop();
    await this.startOperator();
  }

  /** Repeats the assertion until it holds, without waiting for what the operator only puts off. */
  eventually<R>(assertion: () => R | Promise<R>, limit = TIME_LIMIT): Promise<R> {
    const look = async () => {
      try {
        return await assertion();
      } catch (error) {
        this.#hurry();
        throw error;
      }
    };
    return this.world.eventually(look, limit);
  }

  /** Once for every run, so that its clock does not race while a test waits for others. */
  #hurry(): void {
    const { runs, idle } = this.counters;
    if (!this.world.timeIsReal || !idle || this.#hurriedAfter === runs) return;
    this.#hurriedAfter = runs;
    this.clock.jump(PUT_OFF_MS);
  }

  create(name: string, spec: NonNullable<T["spec"]>): Promise<Stored<T>> {
    const { apiVersion, kind } = this.#kind;
    return this.person.create(this.#kind, {
      apiVersion,
      kind,
      metadata: this.ref(name),
      spec,
    } as unknown as T);
  }

  /** Merges into the spec; `null` removes a field. */
  change(name: string, spec: object): Promise<Stored<T>> {
    return this.person.mergePatch(this.#kind, this.ref(name), { spec });
  }

  get<K extends KubeObject>(kind: Kind<K>, name: string): Promise<Stored<K>> {
    return this.person.get(kind, this.ref(name));
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

  async delete(kind: Kind, name: string): Promise<void> {
    await this.person.delete(kind, this.ref(name));
  }

  untilGone(kind: Kind, name: string): Promise<void> {
    return this.eventually(async () => {
      expect(await this.exists(kind, name), `${kind.kind} ${name} exists`).toBe(false);
    });
  }

  async status(name: string): Promise<NonNullable<T["status"]>> {
    return (await this.get(this.#kind, name)).status ?? {};
  }

  untilStatus(name: string, expected: object): Promise<NonNullable<T["status"]>> {
    return this.eventually(async () => {
      const status = await this.status(name);
      expect(status).toMatchObject(expected);
      return status;
    });
  }

  /** Waits until a condition is as expected, and returns it. */
  untilCondition(name: string, type: string, expected: Partial<Condition>): Promise<Condition> {
    return this.eventually(async () => {
      const condition = findCondition((await this.status(name)).conditions, type);
      expect(condition).toMatchObject(expected);
      return condition as Condition;
    });
  }

  /** Creates a Secret or replaces what it holds. */
  async putSecret(name: string, values: Readonly<Record<string, string>>): Promise<Stored<Secret>> {
    this.secrets.add(...Object.values(values));
    const encoded = Object.entries(values).map(([key, value]) => [
      key,
      Buffer.from(value).toString("base64"),
    ]);
    const data = Object.fromEntries(encoded);
    return this.person.apply(Secret, { apiVersion: "v1", kind: "Secret", metadata: this.ref(name), data });
  }

  /** The value of a key of the Secret; `undefined` if it does not exist. */
  async secretValue(secret: string, key: string): Promise<string | undefined> {
    if (!(await this.exists(Secret, secret))) return undefined;
    const encoded = (await this.get(Secret, secret)).data?.[key];
    return encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString("utf8");
  }

  /** What users see in `kubectl describe`. */
  async events(name: string): Promise<Stored<CoreEvent>[]> {
    const fieldSelector = `involvedObject.name=${name}`;
    return [...(await this.person.list(CoreEvent, { namespace: this.namespace, fieldSelector })).items];
  }

  /** Plays the pods: reports them ready as soon as the Deployment is there. */
  async markReady(deployment: string): Promise<void> {
    await this.eventually(() => this.get(Deployment, deployment));
    await this.world.markDeploymentReady(this.namespace, deployment);
  }

  untilIdle(): Promise<void> {
    return this.eventually(() => expect(this.counters.idle).toBe(true));
  }

  /**
   * Lets the operator finish what it is at, and then the time pass: a run under way would count its pause from the time
   * before.
   */
  async timePasses(ms: number): Promise<void> {
    await this.untilIdle();
    this.clock.jump(ms);
  }

  /** Gives the operator a reason to look at the object, and waits until it did. */
  async touch(name: string, why: string): Promise<void> {
    const before = this.counters.runs;
    await this.person.mergePatch(this.#kind, this.ref(name), { metadata: { annotations: { why } } });
    await this.eventually(() => expect(this.counters.runs).toBeGreaterThan(before));
  }

  ref(name: string): { namespace: string; name: string } {
    return { namespace: this.namespace, name };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const metrics = await this.counters.registry.metrics();
    for (const operator of this.#operators) await operator.stop();
    await this.world[Symbol.asyncDispose]();
    for (const operator of this.#operators) this.#expectNoLeak(operator);
    for (const error of this.counters.errors) expect(this.secrets.foundIn(textOfError(error))).toEqual([]);
    expect(this.secrets.foundIn(metrics)).toEqual([]);
  }

  /** PollState into its log, and into all that it wrote to statuses and events. */
  #expectNoLeak({ log, transport }: RunningOperator): void {
    for (const line of log) expect(this.secrets.foundIn(JSON.stringify(line)), line.msg).toEqual([]);
    for (const { path, body = "" } of transport.requests) {
      if (/\/(events|status)\b/.test(path)) expect(this.secrets.foundIn(body), path).toEqual([]);
    }
  }
}
