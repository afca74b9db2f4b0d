import { StaticAccounts } from "../../../lab/coderd/accounts.ts";
import type { CoderdDeployment, DeploymentOptions } from "../../../lab/coderd/deployment.ts";
import { fakeLicense } from "../../../lab/coderd/licenses.ts";
import { healthyInspection } from "../../../lab/coderd-database/memory.ts";
import type { OperatorOptions, RunningOperator } from "../../../lab/operator.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import type { OperatorAccess } from "../../../src/coder/operator-access/access.ts";
import type { DatabaseInspection } from "../../../src/coder/operator-access/inspect.ts";
import { failed, succeeded } from "../../../src/coder/result.ts";
import { Stage } from "../../support/stages/stage.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

const YEAR_MS = 365 * 24 * 60 * 60_000;

/** A database in memory with the operator's tokens, and who is behind them at coderd. */
class Tokens implements OperatorAccess {
  readonly accounts = new StaticAccounts();
  readonly #now: () => number;
  current: string | undefined;
  issued = 0;
  asked = 0;
  revoked = 0;
  isDown = false;
  inspection: DatabaseInspection = healthyInspection;
  /** The organizations of which the operator is a member; all when absent. */
  organizationIds: readonly string[] | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  ensureToken: OperatorAccess["ensureToken"] = async (_target, held) => {
    this.asked++;
    if (this.isDown)
      return failed({
        kind: "unreachable",
        message: "The database host does not respond; check network policies and the port.",
      });
    const expiresAt = this.#now() + YEAR_MS;
    if (held !== undefined && held === this.current) return succeeded({ token: held, expiresAt });
    if (this.current) this.accounts.remove(this.current);
    this.current = `token-${++this.issued}`;
    this.admit();
    return succeeded({ token: this.current, expiresAt, issuedBecause: "missing" });
  };

  revokeToken: OperatorAccess["revokeToken"] = async () => {
    this.revoked++;
    this.expire();
    return succeeded(1);
  };

  inspect: OperatorAccess["inspect"] = async () =>
    this.isDown
      ? failed({ kind: "unreachable", message: "The database host does not answer." })
      : succeeded(this.inspection);

  expire(): void {
    if (this.current) this.accounts.remove(this.current);
    this.current = undefined;
  }

  admit(): void {
    const { organizationIds } = this;
    if (this.current)
      this.accounts.add(this.current, { owner: true, ...(organizationIds ? { organizationIds } : {}) });
  }
}

/** Where control planes are tried in memory, with a coderd and a database. */
export class ControlPlaneStage extends Stage<CoderControlPlane> {
  readonly tokens = new Tokens(() => this.clock.now());

  override startOperator(options: OperatorOptions = {}): Promise<RunningOperator> {
    return super.startOperator({ database: this.tokens, ...options });
  }

  /** What answers at the Service of a control plane. */
  addCoderd(name: string, options: DeploymentOptions = {}): CoderdDeployment {
    const host = `${name}.${this.namespace}.svc.cluster.local`;
    return this.world.coderds.add(
      { accounts: this.tokens.accounts, now: () => this.clock.now(), ...options },
      { host },
    );
  }

  /** A control plane that serves and gives the operator a token. */
  async serve(
    name: string,
    spec: object = {},
    { coderd = this.addCoderd(name) }: { readonly coderd?: CoderdDeployment } = {},
  ): Promise<CoderdDeployment> {
    coderd.addLicense(fakeLicense({ now: this.clock.now() }));
    const extraEnv = [{ name: "CODER_PG_CONNECTION_URL", value: "postgres://coder@db/coder" }];
    await this.create(name, { extraEnv, ...spec });
    await this.markReady(name);
    return coderd;
  }
}

/** A stage in a world of its own, with an operator at work unless a test starts its own. */
export async function openControlPlaneStage(
  prefix: string,
  { operator = true } = {},
): Promise<ControlPlaneStage> {
  const world = new MemoryWorld();
  const namespace = await world.createNamespace(prefix);
  const stage = new ControlPlaneStage({ world, namespace, kind: CoderControlPlane });
  if (operator) await stage.startOperator();
  return stage;
}
