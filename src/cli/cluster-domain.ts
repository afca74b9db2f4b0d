import { readFile } from "node:fs/promises";
import { DEFAULT_CLUSTER_DOMAIN } from "../operator/names.ts";

const RESOLVER_FILE = "/etc/resolv.conf";

/**
 * Returns the cluster domain, which Kubernetes adds to the search path of pods that use cluster DNS. Returns
 * the default domain if the file is not readable or does not contain it.
 */
export async function discoverClusterDomain(file = RESOLVER_FILE): Promise<string> {
  const text = await readFile(file, "utf8").catch(() => "");
  return domainIn(text) ?? DEFAULT_CLUSTER_DOMAIN;
}

/** The last search line applies. It contains `svc.<domain>` and `<namespace>.svc.<domain>`. */
function domainIn(text: string): string | undefined {
  const lines = text.split("\n").map((line) => line.trim().split(/\s+/));
  const [, ...entries] = lines.findLast(([keyword]) => keyword === "search") ?? [];
  const domain = entries.find((entry) => entry.startsWith("svc."))?.slice("svc.".length);
  return domain?.replace(/\.$/, "").toLowerCase() || undefined;
}
