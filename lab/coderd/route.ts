import type { Account } from "./accounts.ts";
import type { CoderdDeployment } from "./deployment.ts";
import type { Reply } from "./reply.ts";

export interface Call {
  readonly deployment: CoderdDeployment;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readonly<Record<string, unknown>>;
  /** Only on routes that require one; `account` is always set there. */
  readonly account: Account;
}

export interface Route {
  readonly method: string;
  /** Segments that start with a colon are parameters. */
  readonly path: string;
  /** Requires no token. */
  readonly open?: true;
  /** Not in an open-source build. */
  readonly licensed?: { readonly feature?: string; readonly title?: string };
  readonly handle: (call: Call) => Reply | Promise<Reply>;
}
