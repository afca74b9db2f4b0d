import type { Secret } from "kube-controller-runtime";
import { childMetadata } from "../../names.ts";
import { valueSecret } from "../../secret-value.ts";
import type { Registration, WorkspaceProxy } from "../spec.ts";

/** Where the token that coderd gave the proxy at its registration is kept. */
export function tokenSecret(proxy: WorkspaceProxy, { token }: Registration, value: string): Secret {
  return valueSecret(childMetadata(proxy, token.name), { key: token.key, value });
}
