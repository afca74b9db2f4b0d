import { expect } from "vitest";
import type { ControlPlaneSpec, ControlPlaneStatus } from "../../../src/api/v1alpha1/control-plane.ts";
import { fixedAddress } from "../../../src/coder/http/route.ts";
import { CoreEvent, Deployment, Secret } from "../../../src/runtime/kinds.ts";
import type { Stored } from "../../../src/runtime/object.ts";
import { adminClient } from "../../support/admin-client.ts";
import type { ClusterAccess } from "../../support/cluster/access.ts";
import { PostgresAccounts } from "../../support/coderd/accounts.ts";
import type { CoderdDeployment, DeploymentOptions } from "../../support/coderd/deployment.ts";
import { type CoderdServer, startCoderdServer } from "../../support/coderd/server.ts";
import { eventually } from "../../support/eventually.ts";
import { Secrets, textOfError } from "../../support/leaks.ts";
import { type OperatorOptions, type RunningOperator, startOperator } from "../../support/operator.ts";
import type { Database, Databases, Schema } from "../../support/postgres.ts";
import { sharedPostgres } from "../../support/shared-postgres.ts";
import { SkewedClock } from "../../support/skewed-clock.ts";
import { WatchedDatabase } from "../../support/watched-database.ts";
import { Witness } from "../../support/witness.ts";
import { Stage } from "../control-plane/stage.ts";

const PATIENCE = { withinMs: 20_000 };

/** A coderd without pods: what answers at its Service's name, and the database behind it. */
export interface Coderd {
  readonly deployment: CoderdDeployment;
  readonly database: Database;
}

export interface CoderdOptions extends Omit<DeploymentOptions, "now"> {
  /** Which tables the database has; those of 2.26 when absent. */
  readonly schema?: Schema;
  /** A database that there is already, instead of a new one. */
  readonly database?: Database;
}

type Parts = ConstructorParameters<typeof Stage>[0] &
  Pick<CoderdStage, "postgres" | "server" | "databases" | "secrets">;

/**
 * A stage with coderds to speak to: a simulator that plays any number of them and a real Postgres. The operator's
 * clock can be made to jump. When it closes, all that the operator ever said is searched for secrets.
 */
export class CoderdStage extends Stage {
  declare operator: RunningOperator;
  readonly postgres: Databases;
  readonly server: CoderdServer;
  readonly databases: WatchedDatabase;
  readonly secrets: Secrets;
  readonly #past: RunningOperator[] = [];

  /** Use `openCoderdStage`. */
  constructor(parts: Parts) {
    super(parts);
    this.postgres = parts.postgres;
    this.server = parts.server;
    this.databases = parts.databases;
    this.secrets = parts.secrets;
  }

  override create(name: string, spec: ControlPlaneSpec = {}): ReturnType<Stage["create"]> {
    this.#noteSecrets(spec);
    return super.create(name, spec);
  }

  override change(name: string, spec: object): ReturnType<Stage["change"]> {
    this.#noteSecrets(spec);
    return super.change(name, spec);
  }

  /** Puts a coderd behind the Service that the control plane of this name has or will have. */
  async coderd(name: string, { schema = "2.26", ...options }: CoderdOptions = {}): Promise<Coderd> {
    const database = options.database ?? (await this.postgres.createDatabase(schema));
    this.secrets.add(database.url);
    const accounts = new PostgresAccounts(database.url);
    const deployment = this.server.add(
      { accounts, ...options, now: () => this.clock.now() },
      { host: `${name}.${this.namespace}.svc.cluster.local` },
    );
    return { deployment, database };
  }

  /** A control plane whose coderd finds the database by a literal URL, and whose pods are ready. */
  async serve(name: string, coderd: Coderd, spec: ControlPlaneSpec = {}): Promise<void> {
    await this.create(name, { extraEnv: [urlVariable(coderd.database.url)], operatorAccess: {}, ...spec });
    await this.untilServing(name);
  }

  /** Plays the pods: reports them ready as soon as the Deployment is there. */
  async untilServing(name: string): Promise<void> {
    await eventually(() => this.get(Deployment, name), PATIENCE);
    await this.cluster.markDeploymentReady(this.namespace, name);
  }

  /** Creates a Secret or replaces what it holds. */
  async putSecret(name: string, values: Readonly<Record<string, string>>): Promise<Stored<Secret>> {
    this.secrets.add(...Object.values(values));
    const data = Object.fromEntries(Object.entries(values).map(([key, value]) => [key, base64(value)]));
    const secret = { apiVersion: "v1", kind: "Secret", metadata: this.ref(name), data };
    return this.person.apply(Secret, secret);
  }

  /** What the Secret with the operator's token holds. */
  async token(secretName: string): Promise<string> {
    const { data } = await this.get(Secret, secretName);
    return Buffer.from(data?.token ?? "", "base64").toString("utf8");
  }

  untilReady(name: string): Promise<unknown> {
    return this.untilCondition(name, "OperatorAccessReady", { status: "True", reason: "TokenReady" });
  }

  untilStatus(name: string, expected: ControlPlaneStatus): Promise<ControlPlaneStatus> {
    return eventually(async () => {
      const { status } = await this.controlPlane(name);
      expect(status).toMatchObject(expected);
      return status ?? {};
    }, PATIENCE);
  }

  async events(name: string): Promise<Stored<CoreEvent>[]> {
    const fieldSelector = `involvedObject.name=${name}`;
    return [...(await this.person.list(CoreEvent, { namespace: this.namespace, fieldSelector })).items];
  }

  /** Another process of the operator, which runs until it is stopped. */
  async startOperator(options: Partial<OperatorOptions> = {}): Promise<RunningOperator> {
    const operator = await startOperator(this.cluster, { ...optionsOf(this), ...options });
    this.#past.push(operator);
    return operator;
  }

  /** Ends the operator and starts it anew: it has forgotten everything. */
  async restart(): Promise<void> {
    this.#past.push(this.operator);
    await this.operator.stop();
    this.operator = await startOperator(this.cluster, optionsOf(this));
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    const operators = [...this.#past, this.operator];
    const metrics = await this.witness.registry.metrics();
    await Promise.all(operators.map((operator) => operator.stop()));
    await this.server.close();
    await this.postgres.stop();
    for (const operator of operators) this.#expectNoLeak(operator);
    for (const error of this.witness.errors) expect(this.secrets.foundIn(textOfError(error))).toEqual([]);
    expect(this.secrets.foundIn(metrics)).toEqual([]);
  }

  #noteSecrets({ extraEnv = [] }: ControlPlaneSpec): void {
    this.secrets.add(...extraEnv.map(({ value = "" }) => value));
  }

  /** Looks into its log, and into all that it wrote to statuses and events. */
  #expectNoLeak({ log, transport }: RunningOperator): void {
    for (const line of log) expect(this.secrets.foundIn(JSON.stringify(line)), line.msg).toEqual([]);
    for (const { path, body = "" } of transport.requests) {
      if (/\/events[/?]|\/status\?/.test(path)) expect(this.secrets.foundIn(body), path).toEqual([]);
    }
  }
}

/** The variable that tells coderd, and the operator, where the database is. */
export function urlVariable(value: string): { name: string; value: string } {
  return { name: "CODER_PG_CONNECTION_URL", value };
}

export async function openCoderdStage(
  cluster: ClusterAccess,
  prefix: string,
  postgres: Databases = sharedPostgres(),
): Promise<CoderdStage> {
  const [namespace, person, server] = await Promise.all([
    cluster.createNamespace(prefix),
    adminClient(cluster),
    startCoderdServer(),
  ]);
  const clock = new SkewedClock();
  const secrets = new Secrets();
  const databases = new WatchedDatabase({ clock, onToken: (token) => secrets.add(token) });
  const parts = { cluster, namespace, person, postgres, server, clock, secrets, databases };
  const witness = new Witness();
  const operator = await startOperator(cluster, optionsOf({ ...parts, witness }));
  return new CoderdStage({ ...parts, witness, operator });
}

function optionsOf(
  parts: Pick<CoderdStage, "namespace" | "server" | "databases" | "clock" | "witness">,
): OperatorOptions {
  return {
    namespaces: [parts.namespace],
    coderdRoute: fixedAddress(parts.server.url),
    database: parts.databases,
    clock: parts.clock,
    observer: parts.witness,
    tokenLeftBehind: () => parts.witness.tokenLeftBehind(),
  };
}

function base64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}
