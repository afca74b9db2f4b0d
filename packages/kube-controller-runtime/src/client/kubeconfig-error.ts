/**
 * A kubeconfig, a file that it refers to, or a credential plugin that can't be used. The message names the
 * file and the field, never their content; for the same reason there is no cause.
 */
export class KubeconfigError extends Error {
  override readonly name = "KubeconfigError";
}
