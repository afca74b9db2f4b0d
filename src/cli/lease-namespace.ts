import { readFile } from "node:fs/promises";

const SERVICE_ACCOUNT_NAMESPACE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/** Where the Lease lives: the pod's own namespace where it is known, else `kube-system`. */
export async function leaseNamespace(
  podNamespace: string | undefined,
  file = SERVICE_ACCOUNT_NAMESPACE,
): Promise<string> {
  if (podNamespace) return podNamespace;
  const mounted = await readFile(file, "utf8").catch(() => "");
  return mounted.trim() || "kube-system";
}
