import { findCondition, type Kind, type KubeObject, Pod, Secret, type Stored } from "kube-controller-runtime";
import { eventually } from "kube-controller-runtime/testing";
import { expect } from "vitest";
import type { CoderProcessOptions } from "../../../lab/pod-runner/coder-process.ts";
import type { Condition } from "../../../src/api/v1alpha1/common.ts";
import type { ControlPlaneSpec, ControlPlaneStatus } from "../../../src/api/v1alpha1/control-plane.ts";
import { CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy } from "../../../src/api/v1alpha1/kinds.ts";
import type { ProvisionerSpec } from "../../../src/api/v1alpha1/provisioner.ts";
import type { WorkspaceProxySpec } from "../../../src/api/v1alpha1/workspace-proxy.ts";
import { CoderdAdmin, type ListedDaemon } from "./coderd-admin.ts";
import { serverSettings } from "./server-settings.ts";
import { type OwnedDatabase, TIME_LIMIT, type World } from "./world.ts";

type Program = CoderProcessOptions["binary"];

/** The name of every control plane here. */
const CODER = "coder";

interface CustomResource extends KubeObject {
  spec?: unknown;
  status?: { conditions?: readonly Condition[]; observedGeneration?: number };
}

/** A team on the platform: a namespace with one control plane, its database, and its admin. */
export class Tenant {
  readonly world: World;
  readonly namespace: string;
  readonly database: OwnedDatabase;

  private constructor(parts: Pick<Tenant, "world" | "namespace" | "database">) {
    this.world = parts.world;
    this.namespace = parts.namespace;
    this.database = parts.database;
  }

  /** A namespace whose pods run the given Coder, with the URL of an empty database in the Secret `coder-db`. */
  static async settle(world: World, prefix: string, coder: Program = world.binaries.coder): Promise<Tenant> {
    const [namespace, database] = await Promise.all([world.namespace(prefix, coder), world.database()]);
    const tenant = new Tenant({ world, namespace, database });
    await tenant.putSecret("coder-db", { url: database.url });
    return tenant;
  }

  /** The same, with a control plane. */
  static async move(
    world: World,
    prefix: string,
    { coder, ...spec }: ControlPlaneSpec & { readonly coder?: Program } = {},
  ): Promise<Tenant> {
    const tenant = await Tenant.settle(world, prefix, coder);
    const url = {
      name: "CODER_PG_CONNECTION_URL",
      valueFrom: { secretKeyRef: { name: "coder-db", key: "url" } },
    };
    const settings = Object.entries(serverSettings).map(([name, value]) => ({ name, value }));
    await tenant.create(CoderControlPlane, CODER, {
      ...spec,
      extraEnv: [url, ...settings, ...(spec.extraEnv ?? [])],
    });
    return tenant;
  }

  /** Waits for coderd and becomes its first user. */
  async signUp(): Promise<CoderdAdmin> {
    await this.untilControlPlane({ phase: "Ready" });
    return CoderdAdmin.signUp(await this.coderdURL(), this.world.binaries.coder);
  }

  /** The address at which this machine reaches the Service of coderd. */
  coderdURL(): Promise<string> {
    return this.world.services.translate(`http://${CODER}.${this.namespace}.svc.cluster.local`);
  }

  provision(name: string, spec: Partial<ProvisionerSpec> = {}): Promise<unknown> {
    return this.create(CoderProvisioner, name, { controlPlaneRef: { name: CODER }, ...spec });
  }

  proxy(name: string, spec: Partial<WorkspaceProxySpec> = {}): Promise<unknown> {
    return this.create(CoderWorkspaceProxy, name, { controlPlaneRef: { name: CODER }, ...spec });
  }

  async create<T extends KubeObject>(kind: Kind<T>, name: string, spec: unknown): Promise<Stored<T>> {
    const { apiVersion, kind: kindName } = kind;
    return this.world.person.create(kind, {
      apiVersion,
      kind: kindName,
      metadata: this.ref(name),
      spec,
    } as unknown as T);
  }

  /** Merges into the spec; `null` removes a field. */
  change(kind: Kind<KubeObject>, name: string, spec: object): Promise<unknown> {
    return this.world.person.mergePatch(kind, this.ref(name), { spec });
  }

  get<T extends KubeObject>(kind: Kind<T>, name: string): Promise<Stored<T>> {
    return this.world.person.get(kind, this.ref(name));
  }

  delete(kind: Kind<KubeObject>, name: string): Promise<unknown> {
    return this.world.person.delete(kind, this.ref(name));
  }

  /** Creates a Secret or replaces what it holds. */
  async putSecret(name: string, values: Readonly<Record<string, string>>): Promise<void> {
    this.world.secrets.add(...Object.values(values));
    const encoded = Object.entries(values).map(([key, text]) => [key, Buffer.from(text).toString("base64")]);
    const data = Object.fromEntries(encoded);
    await this.world.person.apply(Secret, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: this.ref(name),
      data,
    });
  }

  async secretValue(name: string, key: string): Promise<string> {
    const { data } = await this.get(Secret, name);
    const value = Buffer.from(data?.[key] ?? "", "base64").toString("utf8");
    this.world.secrets.add(value);
    return value;
  }

  untilControlPlane(expected: ControlPlaneStatus): Promise<ControlPlaneStatus> {
    return eventually(async () => {
      const { status = {} } = await this.get(CoderControlPlane, CODER);
      expect(status).toMatchObject(expected);
      return status;
    }, TIME_LIMIT);
  }

  /** The condition, once it is as expected for the spec as it is. */
  untilCondition(
    kind: Kind<CustomResource>,
    { name = CODER, type }: { readonly name?: string; readonly type: string },
    expected: Partial<Condition>,
  ): Promise<Condition> {
    return eventually(async () => {
      const { status, metadata } = await this.get(kind, name);
      const condition = findCondition(status?.conditions, type);
      expect(condition, condition?.message).toMatchObject(expected);
      expect(condition?.observedGeneration).toBe(metadata.generation);
      return condition as Condition;
    }, TIME_LIMIT);
  }

  /** The daemons of a provisioner, once each of its pods is listed by coderd as idle, with the key of status. */
  untilDaemonsServe(name: string, admin: CoderdAdmin): Promise<ListedDaemon[]> {
    return eventually(async () => {
      const { status, spec, metadata } = await this.get(CoderProvisioner, name);
      expect(findCondition(status?.conditions, "Ready")).toMatchObject({ status: "True" });
      expect(findCondition(status?.conditions, "ProvisionerKeyReady")).toMatchObject({
        reason: "KeyReady",
        observedGeneration: metadata.generation,
      });
      const pods = await this.podsOf(name);
      const daemons = (await admin.daemons()).filter((daemon) => pods.includes(daemon.name));
      expect(daemons.map(({ status: state, key_id: key }) => `${state} ${key}`)).toEqual(
        Array(spec?.replicas ?? 1).fill(`idle ${status?.provisionerKeyID}`),
      );
      return daemons;
    }, TIME_LIMIT);
  }

  /** Names of the pods that are not on their way out. */
  async podsOf(provisioner: string): Promise<string[]> {
    const labelSelector = `app.kubernetes.io/instance=${provisioner},app.kubernetes.io/name=coder-provisioner`;
    const { items } = await this.world.person.list(Pod, { namespace: this.namespace, labelSelector });
    return items.filter(({ metadata }) => !metadata.deletionTimestamp).map(({ metadata }) => metadata.name);
  }

  ref(name: string): { namespace: string; name: string } {
    return { namespace: this.namespace, name };
  }
}
