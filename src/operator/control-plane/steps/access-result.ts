import { blocked } from "kube-controller-runtime";
import type { SecretKey } from "../../normalise.ts";
import type { AccessProblem } from "./database.ts";
import type { Result } from "./result.ts";

/** The operator has a token that coderd accepts, as far as anybody knows. */
export function ready(token: string, ref: SecretKey, nextCheckMs?: number): Result<string> {
  return {
    status: { operatorAccessReady: true, operatorTokenSecretRef: { name: ref.name, key: ref.key } },
    condition: {
      status: "True",
      reason: "TokenReady",
      message: `the operator's token is in Secret "${ref.name}"`,
    },
    value: token,
    ...(nextCheckMs === undefined ? {} : { requeueAfterMs: nextCheckMs }),
  };
}

/** The operator has no token to work with. */
export function noAccess({
  reason,
  message,
  retryMs,
}: Pick<AccessProblem, "reason" | "message"> & { readonly retryMs?: number }): Result<string> {
  return blocked(reason, message, {
    status: { operatorAccessReady: false, operatorTokenSecretRef: undefined },
    ...(retryMs === undefined ? {} : { requeueAfterMs: retryMs }),
  });
}
