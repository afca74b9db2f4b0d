import { expect } from "vitest";
import type { Condition } from "../../../src/api/v1alpha1/common.ts";
import type { ControlPlaneStatus } from "../../../src/api/v1alpha1/control-plane.ts";
import { CoderControlPlane, CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import type { ProvisionerSpec, ProvisionerStatus } from "../../../src/api/v1alpha1/provisioner.ts";
import { CoderClients } from "../../../src/coder/clients.ts";
import { fixedAddress } from "../../../src/coder/http/route.ts";
import { provisionerController } from "../../../src/operator/provisioner/controller.ts";
import { keyChecksum } from "../../../src/operator/provisioner/hashes.ts";
import type { Client } from "../../../src/runtime/client/client.ts";
import { isNotFound } from "../../../src/runtime/client/error.ts";
import { systemClock, timestamp } from "../../../src/runtime/clock.ts";
import { findCondition } from "../../../src/runtime/conditions.ts";
import { CoreEvent, Deployment, Secret } from "../../../src/runtime/kinds.ts";
import type { Kind, KubeObject, Stored } from "../../../src/runtime/object.ts";
import { adminClient } from "../../support/admin-client.ts";
import type { ClusterAccess } from "../../support/cluster/access.ts";
import { StaticAccounts } from "../../support/coderd/accounts.ts";
import type { CoderdDeployment, DeploymentOptions } from "../../support/coderd/deployment.ts";
import { fakeLicense } from "../../support/coderd/licenses.ts";
import { type CoderdServer, startCoderdServer } from "../../support/coderd/server.ts";
import { eventually } from "../../support/eventually.ts";
import { Secrets } from "../../support/leaks.ts";
import { type OperatorOptions, type RunningOperator, startOperator } from "../../support/operator.ts";
import { SkewedClock } from "../../support/skewed-clock.ts";
import { unfenced } from "../../support/unfenced.ts";
import { Witness } from "../../support/witness.ts";

/** Generous, because the machine may be busy; what must be fast is measured by the test that says so. */
export const PATIENCE = { withinMs: 20_000 };

/** A token of an owner, which every coderd of a stage knows. */
const TOKEN = "operator-token-of-the-tests";

export interface ControlPlaneOptions extends Omit<DeploymentOptions, "now"> {
  readonly licensed?: boolean;
  readonly status?: Partial<ControlPlaneStatus>;
}

/**
 * Where provisioners play: a namespace, a simulator that stands for any number of coderds, and the controller
 * of provisioners alone. The tests play the controller of control planes, so they decide what those say.
 */
export class ProvisionerStage implements AsyncDisposable {
  readonly cluster: ClusterAccess;
  readonly namespace: string;
  readonly person: Client;
  readonly server: CoderdServer;
  readonly clock = new SkewedClock();
  readonly witness = new Witness();
  readonly #operators: RunningOperator[] = [];
  readonly #deployments: CoderdDeployment[] = [];
  readonly #secrets = new Secrets();

  /** Use `openStage`. */
  constructor(parts: Pick<ProvisionerStage, "cluster" | "namespace" | "person" | "server">) {
    this.cluster = parts.cluster;
    this.namespace = parts.namespace;
    this.person = parts.person;
    this.server = parts.server;
    this.#secrets.add(TOKEN);
  }

  /** The operator that was started last. */
  get operator(): RunningOperator {
    const operator = this.#operators.at(-1);
    if (!operator) throw new Error("no operator was started");
    return operator;
  }

  async startOperator(options: OperatorOptions = {}): Promise<RunningOperator> {
    const operator = await startOperator(this.cluster, {
      namespaces: [this.namespace],
      coderdRoute: fixedAddress(this.server.url),
      controllers: (ports) => [provisionerController(ports)],
      clock: this.clock,
      observer: this.witness,
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

  /** Clients for the coderds of this stage, as the operator has them. */
  clients(): CoderClients {
    return new CoderClients({ fence: unfenced, clock: systemClock, route: fixedAddress(this.server.url) });
  }

  /** A control plane that serves, has a licence and gives the operator access, unless the options say otherwise. */
  async controlPlane(name = "coder", options: ControlPlaneOptions = {}): Promise<CoderdDeployment> {
    const { licensed = true, status = {}, ...deploymentOptions } = options;
    const coderd = this.addCoderd(`${name}.${this.namespace}.svc.cluster.local`, deploymentOptions);
    if (licensed) coderd.addLicense(fakeLicense());
    await this.putSecret(`${name}-operator-token`, { token: TOKEN });
    await this.person.create(CoderControlPlane, {
      ...CoderControlPlane,
      metadata: this.ref(name),
      spec: { image: "ghcr.io/coder/coder:tests" },
    } as CoderControlPlane);
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
    const coderd = this.server.add({ accounts, ...options, now: () => this.clock.now() }, { host });
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

  create(name: string, spec: Partial<ProvisionerSpec> = {}): Promise<Stored<CoderProvisioner>> {
    return this.person.create(CoderProvisioner, {
      apiVersion: CoderProvisioner.apiVersion,
      kind: CoderProvisioner.kind,
      metadata: this.ref(name),
      spec: { controlPlaneRef: { name: "coder" }, ...spec },
    });
  }

  /** Merges into the spec; `null` removes a field. */
  change(name: string, spec: object): Promise<Stored<CoderProvisioner>> {
    return this.person.mergePatch(CoderProvisioner, this.ref(name), { spec });
  }

  get<T extends KubeObject>(kind: Kind<T>, name: string): Promise<Stored<T>> {
    return this.person.get(kind, this.ref(name));
  }

  /** A provisioner whose daemons run: its Deployment is there and was reported ready. */
  async serve(name: string, spec: Partial<ProvisionerSpec> = {}): Promise<ProvisionerStatus> {
    await this.create(name, spec);
    await this.rollOut(name);
    return this.untilSettled(name);
  }

  /** Plays the pods: once the Deployment has the key of status, all pods run with it. */
  async rollOut(name: string): Promise<void> {
    await eventually(async () => {
      const { status } = await this.get(CoderProvisioner, name);
      const { name: secret = "", key = "" } = status?.secretRef ?? {};
      const { metadata } = await this.template(name);
      const checksum = keyChecksum((await this.keyIn(secret, key)) ?? "");
      expect(metadata?.annotations).toMatchObject({ "checksum/provisioner-key": checksum });
      expect(status?.pendingKey).toBeUndefined();
    }, PATIENCE);
    await this.cluster.markDeploymentReady(this.namespace, `provisioner-${name}`);
  }

  /** The status once all is in place and nothing waits any more. */
  untilSettled(name: string): Promise<ProvisionerStatus> {
    return eventually(async () => {
      const { status, metadata } = await this.get(CoderProvisioner, name);
      expect(status?.observedGeneration).toBe(metadata.generation);
      expect(findCondition(status?.conditions, "Ready")).toMatchObject({ status: "True" });
      expect(findCondition(status?.conditions, "ProvisionerKeyReady")?.reason).toBe("KeyReady");
      return status ?? {};
    }, PATIENCE);
  }

  untilCondition(name: string, type: string, expected: Partial<Condition>): Promise<Condition> {
    return eventually(async () => {
      const condition = findCondition((await this.get(CoderProvisioner, name)).status?.conditions, type);
      expect(condition).toMatchObject(expected);
      return condition as Condition;
    }, PATIENCE);
  }

  async untilGone(name: string, withinMs = PATIENCE.withinMs): Promise<void> {
    await eventually(async () => expect(await this.exists(CoderProvisioner, name)).toBe(false), { withinMs });
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

  /** What the Secret holds under a key; `undefined` when there is no such thing. */
  async keyIn(secret: string, key = "key"): Promise<string | undefined> {
    if (!(await this.exists(Secret, secret))) return undefined;
    const encoded = (await this.get(Secret, secret)).data?.[key];
    return encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString("utf8");
  }

  async putSecret(name: string, values: Readonly<Record<string, string>>): Promise<void> {
    this.#secrets.add(...Object.values(values));
    const data = Object.fromEntries(
      Object.entries(values).map(([key, value]) => [key, Buffer.from(value, "utf8").toString("base64")]),
    );
    await this.person.apply(Secret, { apiVersion: "v1", kind: "Secret", metadata: this.ref(name), data });
  }

  async events(name: string): Promise<Stored<CoreEvent>[]> {
    const fieldSelector = `involvedObject.name=${name}`;
    return [...(await this.person.list(CoreEvent, { namespace: this.namespace, fieldSelector })).items];
  }

  async template(name: string): Promise<NonNullable<Deployment["spec"]>["template"]> {
    const { spec } = await this.get(Deployment, `provisioner-${name}`);
    if (!spec) throw new Error("a Deployment without a spec");
    return spec.template;
  }

  /** Lets the operator finish what it is at, and then the time pass. */
  async timePasses(ms: number): Promise<void> {
    await this.untilIdle();
    this.clock.jump(ms);
  }

  untilIdle(): Promise<void> {
    return eventually(() => expect(this.witness.running).toBe(0), PATIENCE);
  }

  /** Gives the operator a reason to look at the provisioner, and waits until it did. */
  async touch(name: string, why: string): Promise<void> {
    const before = this.witness.runs;
    await this.person.mergePatch(CoderProvisioner, this.ref(name), { metadata: { annotations: { why } } });
    await eventually(() => expect(this.witness.runs).toBeGreaterThan(before), PATIENCE);
  }

  ref(name: string): { namespace: string; name: string } {
    return { namespace: this.namespace, name };
  }

  /** Ends all, and searches what the operator ever said for tokens and keys. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#operators.map((operator) => operator.stop()));
    await this.server.close();
    for (const { everyKey } of this.#deployments) this.#secrets.add(...everyKey);
    for (const { log, transport } of this.#operators) {
      for (const line of log) expect(this.#secrets.foundIn(JSON.stringify(line)), line.msg).toEqual([]);
      for (const { path, body = "" } of transport.requests) {
        if (/\/(events|status)\b/.test(path)) expect(this.#secrets.foundIn(body), path).toEqual([]);
      }
    }
  }
}

/** A stage in a namespace of its own, with an operator at work unless a test starts its own. */
export async function openStage(
  cluster: ClusterAccess,
  prefix: string,
  { operator = true } = {},
): Promise<ProvisionerStage> {
  const [namespace, person, server] = await Promise.all([
    cluster.createNamespace(prefix),
    adminClient(cluster),
    startCoderdServer(),
  ]);
  const stage = new ProvisionerStage({ cluster, namespace, person, server });
  if (operator) await stage.startOperator();
  return stage;
}
