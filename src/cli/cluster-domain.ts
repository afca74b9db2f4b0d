import { readFile } from "node:fs/promises";
import { USUAL_CLUSTER_DOMAIN } from "../operator/names.ts";

const RESOLVER_FILE = "/etc/resolv.conf";

/**
 * The domain of the cluster's Services, which Kubernetes writes into the search path of every pod that uses the
 * cluster's DNS; the usual one where that can't be read or says nothing.
 */
export async function discoverClusterDomain(file = RESOLVER_FILE): Promise<string> {
  const text = await readFile(file, "utf8").catch(() => "");
  return domainIn(text) ?? USUAL_CLUSTER_DOMAIN;
}

/** The last search line counts. One of its entries is `svc.<domain>`, another `<namespace>.svc.<domain>`. */
function domainIn(text: string): string | undefined {
  const lines = text.split("\n").map((line) => line.trim().split(/\s+/));
  const [, ...entries] = lines.findLast(([keyword]) => keyword === "search") ?? [];
  const domain = entries.find((entry) => entry.startsWith("svc."))?.slice("svc.".length);
  return domain?.replace(/\.$/, "").toLowerCase() || undefined;
}
