import type { Secret } from "kube-controller-runtime";
import { childMetadata } from "../../names.ts";
import { valueSecret } from "../../secret-value.ts";
import type { Registration, WorkspaceProxy } from "../spec.ts";

/** Secret for the token from the registration of the proxy. */
export function tokenSecret(proxy: WorkspaceProxy, { token }: Registration, value: string): Secret {
  return valueSecret(childMetadata(proxy, token.name), { key: token.key, value });
}
