import { readFile } from "node:fs/promises";

const SERVICE_ACCOUNT_NAMESPACE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/** The namespace of this process's pod if known, otherwise `kube-system`. */
export async function ownNamespace(
  podNamespace = process.env.POD_NAMESPACE,
  file = SERVICE_ACCOUNT_NAMESPACE,
): Promise<string> {
  if (podNamespace) return podNamespace;
  const mounted = await readFile(file, "utf8").catch(() => "");
  return mounted.trim() || "kube-system";
}
