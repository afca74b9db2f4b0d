import type { Clock } from "kube-controller-runtime";
import { unfenced } from "kube-controller-runtime/testing";
import { type OperatorAccess, operatorAccess } from "../src/coder/operator-access/access.ts";
import { connectPostgres } from "../src/coder/operator-access/session.ts";

/** The real way to coderd's database, which counts how often it is gone. */
export class WatchedDatabase implements OperatorAccess {
  /** Connections opened, or tried, so far. */
  connections = 0;
  readonly #access: OperatorAccess;

  constructor(clock: Clock) {
    this.#access = operatorAccess({
      clock,
      fence: unfenced,
      connect: (...way) => {
        this.connections++;
        return connectPostgres(...way);
      },
    });
  }

  ensureToken: OperatorAccess["ensureToken"] = (...call) => this.#access.ensureToken(...call);

  revokeToken: OperatorAccess["revokeToken"] = (...call) => this.#access.revokeToken(...call);

  look: OperatorAccess["look"] = (target, tokenNames) => this.#access.look(target, tokenNames);
}
