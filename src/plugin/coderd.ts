import { messageOf } from "kube-controller-runtime";
import { redact } from "../coder/redact.ts";
import { CommandError, type Context } from "./command.ts";

const TIMEOUT_MS = 15_000;

/** coderd, accessed at the user's URL with the user's token. The operator's token is never used. */
export interface PersonalCoderd {
  readonly url: string;
  /** The JSON at a path. Throws an error with the reason on failure. */
  readonly get: (path: string) => Promise<unknown>;
}

/**
 * The deployment that `CODER_URL` and `CODER_SESSION_TOKEN` name, the same variables as for Coder's CLI. Both
 * are required: a token must not be sent to an address that an object in the cluster gives.
 */
export function personalCoderd({ env, fetch }: Pick<Context, "env" | "fetch">): PersonalCoderd | undefined {
  const { CODER_URL: url, CODER_SESSION_TOKEN: token } = env;
  if (!url || !token) return undefined;
  const ask = async (path: string) => {
    const response = await fetch(new URL(path, url), {
      headers: { "Coder-Session-Token": token, accept: "application/json" },
      redirect: "error",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return { ok: response.ok, status: response.status, text: await response.text() };
  };
  return {
    url,
    get: async (path) => {
      const { ok, status, text } = await ask(path).catch((error: unknown) => {
        throw new CommandError(`coderd can't be reached at CODER_URL: ${redact(messageOf(error), [token])}.`);
      });
      if (ok) return parsed(text);
      throw new CommandError(refusal(status, path));
    },
  };
}

function refusal(status: number, path: string): string {
  if (status === 401) return "coderd does not accept CODER_SESSION_TOKEN; log in again.";
  if (status === 403 || status === 404) return `coderd has no ${path}, or you may not see it.`;
  return `coderd answered ${path} with HTTP ${status}.`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CommandError("coderd did not answer with JSON; check CODER_URL.");
  }
}
