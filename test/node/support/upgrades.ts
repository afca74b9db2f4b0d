import type { V1Pod } from "@kubernetes/client-node";
import { eventually } from "kube-controller-runtime/testing";
import { expect, inject } from "vitest";
import type { ControlPlaneSpec } from "../../../src/api/v1alpha1/control-plane.ts";
import type { UpgradeStage, UpgradeStatus } from "../../../src/api/v1alpha1/upgrade.ts";
import { DatabaseWatch } from "../../e2e/support/upgrade-watch.ts";
import { CODER, Platform } from "./platform.ts";
import { type Served, ServiceProbe } from "./service-probe.ts";

export const CONTROL_PLANE = `codercontrolplane/${CODER}`;
/** An upgrade waits for pods to end and to start, several times. */
const UPGRADE_LIMIT = { withinMs: 180_000 };
/** Of the last migrations of both versions. */
export const SCHEMA = { older: 362, current: 556 };

const { older = "", current = "" } = inject("place")?.coder ?? {};
export const IMAGE = { older, current };

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

interface Seen {
  readonly metadata: { readonly creationTimestamp: string };
  readonly status?: {
    readonly image?: string;
    readonly version?: string;
    readonly upgrade?: UpgradeStatus;
    readonly conditions?: readonly Condition[];
  };
}

/** What was seen of an upgrade from outside. */
export interface Observed {
  readonly served: Served;
  readonly schemas: readonly number[];
  readonly migrationMs: number;
  /**
   * How long the old version took to end after its last answer. coderd stops listening at once and waits up to three
   * seconds for requests, which agents of workspaces keep open for as long as they live.
   */
  readonly endingMs: number;
  /** Names of pods of the old version with a session on the new schema. */
  readonly oldOnNewSchema: readonly string[];
}

/** A control plane of the older Coder with two replicas, and what is seen of its upgrade. */
export class Upgrades implements AsyncDisposable {
  readonly platform: Platform;
  readonly #owned: AsyncDisposableStack;

  private constructor(platform: Platform, owned: AsyncDisposableStack) {
    this.platform = platform;
    this.#owned = owned;
  }

  /** Returns when the older version serves. Its sessions with the database call themselves after their pods. */
  static async open(prefix: string, controlPlane: ControlPlaneSpec = {}): Promise<Upgrades> {
    await using owned = new AsyncDisposableStack();
    const podName = { name: "PGAPPNAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } };
    const platform = owned.use(
      await Platform.open(prefix, {
        controlPlane: { replicas: 2, ...controlPlane, extraEnv: [podName] },
        pools: { linux: { tags: { pool: "linux" } } },
        coder: "coder-old",
      }),
    );
    return new Upgrades(platform, owned.move());
  }

  /** Watches service and database while something happens. */
  async observe(act: () => Promise<void>): Promise<Observed> {
    const { cluster, workspaceNamespace, database } = this.platform;
    const old = await this.podNames();
    const url = new URL(cluster.place.postgresUrl);
    url.pathname = database.name;
    await using watch = new DatabaseWatch(url.href);
    const target = { namespace: workspaceNamespace, image: IMAGE.older, url: await this.#serviceUrl() };
    await using probe = await ServiceProbe.start(cluster, target);
    await act();
    const { schemas, applicationsOn, migrationMs, lastConnected } = await watch.stop();
    const served = await probe.served();
    const endingMs = Math.max(0, lastConnected(old) - served.firstEndedAt);
    const oldOnNewSchema = applicationsOn(SCHEMA.current).filter((name) => old.includes(name));
    return { served, schemas, migrationMs, endingMs, oldOnNewSchema };
  }

  async seen(object = CONTROL_PLANE): Promise<Seen> {
    return this.platform.cluster.get([object, `--namespace=${this.platform.namespace}`]);
  }

  untilStage(stage: UpgradeStage): Promise<UpgradeStatus> {
    return eventually(async () => {
      const { status } = await this.seen();
      expect(status?.upgrade?.stage).toBe(stage);
      return status?.upgrade ?? expect.fail();
    }, UPGRADE_LIMIT);
  }

  untilCondition(type: string, expected: Partial<Condition>, object?: string): Promise<Condition> {
    return eventually(async () => {
      const { status } = await this.seen(object);
      const found = status?.conditions?.find((condition) => condition.type === type);
      expect(found).toMatchObject(expected);
      return found ?? expect.fail();
    }, UPGRADE_LIMIT);
  }

  /** Those of coderd. */
  async podNames(): Promise<string[]> {
    const pods = await this.platform.cluster.list<V1Pod>([
      "pods",
      `--namespace=${this.platform.namespace}`,
      "--selector=app.kubernetes.io/name=coder-control-plane",
    ]);
    return pods.map(({ metadata }) => metadata?.name ?? "").sort();
  }

  /** The messages of events about the control plane with a reason. */
  async eventsOf(reason: string): Promise<string[]> {
    const selector = `--field-selector=reason=${reason},involvedObject.name=${CODER}`;
    const events = await this.platform.cluster.list<{ message?: string }>([
      ...["events", `--namespace=${this.platform.namespace}`, selector],
    ]);
    return events.map(({ message = "" }) => message);
  }

  /** The new version serves, on its schema, to the users that there were. */
  async expectUpgraded(): Promise<void> {
    const { platform } = this;
    expect((await this.seen()).status).toMatchObject({
      version: expect.stringContaining("v2.36.1"),
      image: IMAGE.current,
      upgrade: { schemaBefore: SCHEMA.older, from: IMAGE.older, to: IMAGE.current },
    });
    await eventually(async () => {
      const version = expect.stringContaining("v2.36.1");
      expect(await platform.admin.get("/api/v2/buildinfo")).toMatchObject({ version });
    }, UPGRADE_LIMIT);
    const { users } = await platform.admin.get<{ users: { username: string }[] }>("/api/v2/users");
    expect(users.map(({ username }) => username)).toContain("admin");
  }

  async #serviceUrl(): Promise<string> {
    const service = await this.platform.cluster.get<{ spec: { clusterIP: string } }>([
      ...["service", CODER, `--namespace=${this.platform.namespace}`],
    ]);
    return `http://${service.spec.clusterIP}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}
