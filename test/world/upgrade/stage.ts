import { Deployment, findCondition } from "kube-controller-runtime";
import { expect } from "vitest";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import { fakeLicense } from "../../../lab/coderd/licenses.ts";
import type { OperatorOptions, RunningOperator } from "../../../lab/operator.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import type { UpgradeStage as Stage } from "../../../src/api/v1alpha1/upgrade.ts";
import { MemoryWorld } from "../../support/world/memory.ts";
import { ControlPlaneStage } from "../control-plane/stage.ts";
import { Rollouts } from "./rollouts.ts";
import { type Program, SimulatedSchema } from "./schema.ts";

export const OLD = "ghcr.io/coder/coder:v2.26.0";
export const NEW = "ghcr.io/coder/coder:v2.36.1";
export const LATER = "ghcr.io/coder/coder:v2.36.2";
export const BROKEN = "ghcr.io/coder/coder:v2.30.0";
export const BAD_AFTER = "ghcr.io/coder/coder:v2.30.1";

/** An upgrade takes its time, and so does giving one up. */
const TIME_LIMIT = { withinMs: 30 * 60_000 };

/** A stage with a control plane `coder` whose pods are played, with the database that they migrate. */
export class UpgradeStage extends ControlPlaneStage {
  readonly schema = new SimulatedSchema(362);
  readonly programs: Record<string, Program> = {
    [OLD]: { schema: 362, version: "v2.26.0" },
    [NEW]: { schema: 556, version: "v2.36.1", migrateMs: 10_000 },
    [LATER]: { schema: 557, version: "v2.36.2", migrateMs: 10_000 },
    [BROKEN]: { schema: 412, version: "v2.30.0", crashes: "before" },
    [BAD_AFTER]: { schema: 413, version: "v2.30.1", crashes: "after" },
  };
  #coderd: CoderdDeployment | undefined;
  #rollouts: Rollouts | undefined;
  /** Every stage that the status has shown, in order. */
  readonly stages: Stage[] = [];

  get coderd(): CoderdDeployment {
    if (!this.#coderd) throw new Error("there is no control plane yet");
    return this.#coderd;
  }

  get rollouts(): Rollouts {
    if (!this.#rollouts) throw new Error("there is no control plane yet");
    return this.#rollouts;
  }

  override startOperator(options: OperatorOptions = {}): Promise<RunningOperator> {
    Object.defineProperty(this.tokens, "inspection", {
      get: () => this.schema.inspection,
      configurable: true,
    });
    return super.startOperator({ ...options });
  }

  /** A control plane of the old version that serves. */
  async settle(spec: object = {}): Promise<void> {
    const host = `coder.${this.namespace}.svc.cluster.local`;
    this.#coderd = this.world.coderds.add(
      { accounts: this.tokens.accounts, now: () => this.clock.now(), version: "v2.26.0" },
      { host },
    );
    this.coderd.addLicense(fakeLicense({ now: this.clock.now() }));
    this.#rollouts = new Rollouts(this);
    const extraEnv = [{ name: "CODER_PG_CONNECTION_URL", value: "postgres://coder@db/coder" }];
    await this.create("coder", { image: OLD, replicas: 2, extraEnv, ...spec });
    await this.untilCondition("coder", "Ready", { status: "True" });
    await this.eventually(async () => {
      const { image, operatorAccessReady, version } = await this.status("coder");
      expect(image).toBe(OLD);
      if (operatorAccessReady) expect(version).toBe("v2.26.0");
    });
  }

  /** Waits for a stage and returns what is recorded of the upgrade. */
  untilStage(stage: Stage) {
    return this.eventually(async () => {
      const { upgrade } = await this.status("coder");
      if (upgrade && this.stages.at(-1) !== upgrade.stage) this.stages.push(upgrade.stage);
      expect(upgrade?.stage).toBe(stage);
      if (!upgrade) throw new Error("unreachable");
      return upgrade;
    }, TIME_LIMIT);
  }

  /** A build that runs until it is finished. */
  startBuild() {
    const [organization] = this.coderd.organizations;
    const job = this.coderd.jobs.submit({ organization: organization?.id ?? "" });
    job.status = "running";
    return job;
  }

  async condition(type: string) {
    return findCondition((await this.status("coder")).conditions, type);
  }

  async image(deployment = "coder"): Promise<string | undefined> {
    return (await this.get(Deployment, deployment)).spec?.template.spec?.containers[0]?.image;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.#rollouts?.[Symbol.asyncDispose]();
    await super[Symbol.asyncDispose]();
  }
}

export async function openUpgradeStage({ operator = true } = {}): Promise<UpgradeStage> {
  const world = new MemoryWorld();
  const namespace = await world.createNamespace("upgrade");
  const stage = new UpgradeStage({ world, namespace, kind: CoderControlPlane });
  if (operator) await stage.startOperator();
  return stage;
}
