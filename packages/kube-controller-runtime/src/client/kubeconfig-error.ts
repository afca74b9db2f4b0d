/**
 * A kubeconfig, a file that it names or a credential plugin that can't be used. The message names the file and
 * the field, and never holds what they contain: no cause is kept that could quote it.
 */
export class KubeconfigError extends Error {
  override readonly name = "KubeconfigError";
}
