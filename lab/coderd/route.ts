import type { Account } from "./accounts.ts";
import type { CoderdDeployment } from "./deployment.ts";
import type { Reply } from "./reply.ts";

export interface Call {
  readonly deployment: CoderdDeployment;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readonly<Record<string, unknown>>;
  /** Only on routes that need one; `account` is then never missing. */
  readonly account: Account;
}

export interface Route {
  readonly method: string;
  /** Segments that start with a colon are parameters. */
  readonly path: string;
  /** Answers without a token. */
  readonly open?: true;
  /** Not in an open-source build. */
  readonly licensed?: { readonly feature?: string; readonly title?: string };
  readonly handle: (call: Call) => Reply | Promise<Reply>;
}
