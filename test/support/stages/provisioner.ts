import {
  controllerReference,
  Deployment,
  findCondition,
  Service,
  type Stored,
  timestamp,
} from "kube-controller-runtime";
import { expect } from "vitest";
import { StaticAccounts } from "../../../lab/coderd/accounts.ts";
import type { CoderdDeployment, DeploymentOptions } from "../../../lab/coderd/deployment.ts";
import { fakeLicense } from "../../../lab/coderd/licenses.ts";
import type { OperatorOptions, RunningOperator } from "../../../lab/operator.ts";
import type { ControlPlaneStatus } from "../../../src/api/v1alpha1/control-plane.ts";
import { CoderControlPlane, CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import type { ProvisionerSpec, ProvisionerStatus } from "../../../src/api/v1alpha1/provisioner.ts";
import { withDefaults } from "../../../src/operator/coderd/settings.ts";
import { provisionerController } from "../../../src/operator/provisioner/controller.ts";
import { keyChecksum } from "../../../src/operator/provisioner/key/secret.ts";
import { service } from "../../../src/operator/workload/exposure/service.ts";
import { openTenancy } from "../../../src/operator/workload/rbac/tenancy.ts";
import { DaemonPods } from "../daemon-pods.ts";
import type { World } from "../world/world.ts";
import { Stage } from "./stage.ts";

/** A token of an owner, which every coderd of a stage knows. */
const TOKEN = "operator-token-of-the-tests";

export interface ControlPlaneOptions extends Omit<DeploymentOptions, "now"> {
  readonly licensed?: boolean;
  readonly status?: Partial<ControlPlaneStatus>;
}

/**
 * Where provisioners play, with the controller of provisioners alone. The tests play the controller of control
 * planes, so they decide what those say.
 */
export class ProvisionerStage extends Stage<CoderProvisioner> {
  readonly #deployments: CoderdDeployment[] = [];
  readonly pods = new DaemonPods(this, () => this.#deployments);

  /** Use `openStage`. */
  constructor(world: World, namespace: string) {
    super({ world, namespace, kind: CoderProvisioner });
    this.secrets.add(TOKEN);
  }

  override startOperator(options: OperatorOptions = {}): Promise<RunningOperator> {
    return super.startOperator({
      controllers: (ports) => [provisionerController(ports, openTenancy)],
      ...options,
    });
  }

  /** A control plane that serves, has a license and gives the operator access, unless the options say otherwise. */
  async controlPlane(name = "coder", options: ControlPlaneOptions = {}): Promise<CoderdDeployment> {
    const { licensed = true, status = {}, ...deploymentOptions } = options;
    const coderd = this.addCoderd(`${name}.${this.namespace}.svc.cluster.local`, deploymentOptions);
    if (licensed) coderd.addLicense(fakeLicense({ now: this.clock.now() }));
    await this.putSecret(`${name}-operator-token`, { token: TOKEN });
    const created = await this.person.create(CoderControlPlane, {
      ...CoderControlPlane,
      metadata: this.ref(name),
      spec: { image: "ghcr.io/coder/coder:tests" },
    } as CoderControlPlane);
    const child = service(withDefaults(created));
    const ownerReferences = [controllerReference(created, CoderControlPlane)];
    await this.person.apply(Service, { ...child, metadata: { ...child.metadata, ownerReferences } });
    await this.publish(name, {
      url: this.urlOf(name),
      operatorAccessReady: true,
      operatorTokenSecretRef: { name: `${name}-operator-token`, key: "token" },
      externalProvisionerDaemonsEntitlement: licensed ? "entitled" : "not_entitled",
      entitlementsLastChecked: timestamp(this.clock.now()),
      ...status,
    });
    return coderd;
  }

  /** A coderd that answers under this host name. */
  addCoderd(host: string, options: Omit<DeploymentOptions, "now"> = {}): CoderdDeployment {
    const accounts = new StaticAccounts();
    accounts.add(TOKEN, { owner: true });
    const coderd = this.world.coderds.add({ accounts, ...options, now: () => this.clock.now() }, { host });
    this.#deployments.push(coderd);
    return coderd;
  }

  /** Says something in the status of a control plane, as its controller would; `undefined` removes a field. */
  async publish(
    name: string,
    status: { readonly [Field in keyof ControlPlaneStatus]?: unknown },
  ): Promise<void> {
    const patch = Object.fromEntries(Object.entries(status).map(([field, value]) => [field, value ?? null]));
    await this.person.patchStatus(CoderControlPlane, this.ref(name), { status: patch });
  }

  urlOf(name: string): string {
    return `http://${name}.${this.namespace}.svc.cluster.local:80`;
  }

  override create(name: string, spec: Partial<ProvisionerSpec> = {}): Promise<Stored<CoderProvisioner>> {
    return super.create(name, { controlPlaneRef: { name: "coder" }, ...spec });
  }

  /** A provisioner whose daemons run: its Deployment is there and was reported ready. */
  async serve(name: string, spec: Partial<ProvisionerSpec> = {}): Promise<ProvisionerStatus> {
    await this.create(name, spec);
    await this.rollOut(name);
    return this.untilSettled(name);
  }

  /** Plays the pods: once the Deployment has the key of status, all pods run with it. */
  async rollOut(name: string): Promise<void> {
    await this.eventually(async () => {
      const status = await this.status(name);
      const { name: secret = "", key = "" } = status.secretRef ?? {};
      const { metadata } = await this.template(name);
      const checksum = keyChecksum((await this.keyIn(secret, key)) ?? "");
      expect(metadata?.annotations).toMatchObject({ "checksum/provisioner-key": checksum });
      expect(status.pendingKey).toBeUndefined();
    });
    await this.pods.replace(name);
    await this.world.markDeploymentReady(this.namespace, `provisioner-${name}`);
  }

  /** The status once all is in place and nothing waits any more. */
  untilSettled(name: string): Promise<ProvisionerStatus> {
    return this.eventually(() => this.assertSettled(name));
  }

  /** Fails while something is not in place or is still waited for. */
  async assertSettled(name: string): Promise<ProvisionerStatus> {
    const { status = {}, metadata } = await this.get(CoderProvisioner, name);
    expect(status.observedGeneration).toBe(metadata.generation);
    expect(findCondition(status.conditions, "Ready")).toMatchObject({ status: "True" });
    expect(findCondition(status.conditions, "ProvisionerKeyReady")?.reason).toBe("KeyReady");
    return status;
  }

  /** The value of a key of the Secret; `undefined` if it does not exist. */
  keyIn(secret: string, key = "key"): Promise<string | undefined> {
    return this.secretValue(secret, key);
  }

  async template(name: string): Promise<NonNullable<Deployment["spec"]>["template"]> {
    const { spec } = await this.get(Deployment, `provisioner-${name}`);
    if (!spec) throw new Error("a Deployment without a spec");
    return spec.template;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    for (const { everyKey } of this.#deployments) this.secrets.add(...everyKey);
    await super[Symbol.asyncDispose]();
  }
}

/** A stage in a namespace of its own, with an operator at work unless a test starts its own. */
export async function openStage(
  world: World,
  prefix: string,
  { operator = true } = {},
): Promise<ProvisionerStage> {
  const stage = new ProvisionerStage(world, await world.createNamespace(prefix));
  if (operator) await stage.startOperator();
  return stage;
}
