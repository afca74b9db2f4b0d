import { type OperatorAccess, operatorAccess } from "../../src/coder/operator-access/access.ts";
import { type Connect, connectPostgres } from "../../src/coder/operator-access/session.ts";
import type { Clock } from "../../src/runtime/clock.ts";
import { unfenced } from "./unfenced.ts";

export interface WatchedDatabaseOptions {
  readonly clock: Clock;
  /** Hears every token that the database gives out. */
  readonly onToken?: (token: string) => void;
  readonly connect?: Connect;
}

/** The real way to coderd's database, which counts how often it is gone. */
export class WatchedDatabase implements OperatorAccess {
  /** Connections opened, or tried, so far. */
  connections = 0;
  readonly #access: OperatorAccess;
  readonly #onToken: ((token: string) => void) | undefined;

  constructor({ clock, onToken, connect = connectPostgres }: WatchedDatabaseOptions) {
    this.#onToken = onToken;
    this.#access = operatorAccess({
      clock,
      fence: unfenced,
      connect: (...way) => {
        this.connections++;
        return connect(...way);
      },
    });
  }

  ensureToken: OperatorAccess["ensureToken"] = async (target, held) => {
    const result = await this.#access.ensureToken(target, held);
    if (result.ok) this.#onToken?.(result.value.token);
    return result;
  };

  revokeToken: OperatorAccess["revokeToken"] = (target) => this.#access.revokeToken(target);
}
