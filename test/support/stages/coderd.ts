import type { KubeObject, Stored } from "kube-controller-runtime";
import { parseAddress } from "kube-controller-runtime/testing";
import type { CoderdDeployment, DeploymentOptions } from "../../../lab/coderd/deployment.ts";
import type { CoderdDatabase, CoderdDatabases } from "../../../lab/coderd-database/database.ts";
import type { OperatorOptions, RunningOperator } from "../../../lab/operator.ts";
import type { ControlPlaneSpec } from "../../../src/api/v1alpha1/control-plane.ts";
import type { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import type { OperatorAccess } from "../../../src/coder/operator-access/access.ts";
import type { World } from "../world/world.ts";
import { ChildrenStage } from "./children.ts";

/** A coderd without pods: what answers at its Service's name, and the database behind it. */
export interface Coderd<D extends CoderdDatabase = CoderdDatabase> {
  readonly deployment: CoderdDeployment;
  readonly database: D;
}

export interface CoderdOptions<D extends CoderdDatabase = CoderdDatabase>
  extends Omit<DeploymentOptions, "now"> {
  /** A database that there is already, instead of a new one. */
  readonly database?: D;
}

/** A write that the API server has answered. */
interface AnsweredWrite {
  readonly resource: string;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  readonly code: number;
}

/** A stage of control planes with coderds to speak to, each with its database. */
export class CoderdStage<D extends CoderdDatabase = CoderdDatabase> extends ChildrenStage {
  readonly databases: CoderdDatabases<D>;

  /** Use `openCoderdStage`. */
  constructor(world: World, namespace: string, databases: CoderdDatabases<D>) {
    super(world, namespace);
    this.databases = databases;
  }

  override startOperator(options: OperatorOptions = {}): Promise<RunningOperator> {
    return super.startOperator({ database: this.access(), ...options });
  }

  /** The way to the databases, by which every token becomes known as a secret. */
  access(way: OperatorAccess = this.databases.access): OperatorAccess {
    return {
      ensureToken: async (...call) => {
        const result = await way.ensureToken(...call);
        if (result.ok) this.secrets.add(result.value.token);
        return result;
      },
      revokeToken: (...call) => way.revokeToken(...call),
      inspect: (target, tokenNames) => way.inspect(target, tokenNames),
    };
  }

  override create(name: string, spec: ControlPlaneSpec = {}): Promise<Stored<CoderControlPlane>> {
    this.#noteSecrets(spec);
    return super.create(name, spec);
  }

  override change(name: string, spec: object): Promise<Stored<CoderControlPlane>> {
    this.#noteSecrets(spec);
    return super.change(name, spec);
  }

  /** Puts a coderd behind the Service that the control plane of this name has or will have. */
  async coderd(name: string, { database: given, ...options }: CoderdOptions<D> = {}): Promise<Coderd<D>> {
    const database = given ?? (await this.databases.create());
    this.secrets.add(database.url);
    const host = `${name}.${this.namespace}.svc.cluster.local`;
    const now = () => this.clock.now();
    const accounts = options.accounts ?? database.accounts();
    const deployment = this.world.coderds.add({ ...options, accounts, now }, { host });
    return { deployment, database };
  }

  /** A control plane whose coderd finds the database by a literal URL, and whose pods are ready. */
  async serve(name: string, coderd: Coderd<D>, spec: ControlPlaneSpec = {}): Promise<void> {
    await this.create(name, { extraEnv: [urlVariable(coderd.database.url)], operatorAccess: {}, ...spec });
    await this.untilServing(name);
  }

  untilServing(name: string): Promise<void> {
    return this.markReady(name);
  }

  /** The content of the Secret with the operator's token; empty if it does not exist. */
  async token(secretName: string): Promise<string> {
    return (await this.secretValue(secretName, "token")) ?? "";
  }

  untilReady(name: string): Promise<unknown> {
    return this.untilCondition(name, "OperatorAccessReady", { status: "True", reason: "TokenReady" });
  }

  /** What the operator that was started last wrote, events included. */
  writes(): AnsweredWrite[] {
    return this.operator.transport.answered
      .filter(({ request }) => request.method !== "GET")
      .map(({ request, status }) => {
        const { plural, name, subresource } = parseAddress(request.path);
        const { metadata } = JSON.parse(request.body ?? "{}") as KubeObject;
        return { resource: plural, name: name ?? metadata?.name, subresource, code: status };
      });
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    await this.databases.close();
  }

  #noteSecrets({ extraEnv = [] }: ControlPlaneSpec): void {
    this.secrets.add(...extraEnv.map(({ value = "" }) => value));
  }
}

/** The variable by which coderd, and the operator, know where the database is. */
export function urlVariable(value: string): { name: string; value: string } {
  return { name: "CODER_PG_CONNECTION_URL", value };
}

/** A stage in a namespace of its own, with an operator at work unless a test starts its own. */
export async function openCoderdStage<D extends CoderdDatabase>(
  world: World,
  databases: CoderdDatabases<D>,
  { prefix = "coderd", operator = true } = {},
): Promise<CoderdStage<D>> {
  const stage = new CoderdStage(world, await world.createNamespace(prefix), databases);
  if (operator) await stage.startOperator();
  return stage;
}
