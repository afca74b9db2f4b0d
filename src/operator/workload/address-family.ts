/*
 * Clusters whose Services and pods have IPv6 addresses. Everywhere else the texts are those of earlier versions, so that
 * no pod is replaced because of them.
 */

/** Where a program listens on all addresses of its pod. Go takes the first for IPv4 alone, and the other for both. */
export function anyAddress(clusterIP: string | undefined): "0.0.0.0" | "[::]" {
  return isIPv6(clusterIP) ? "[::]" : "0.0.0.0";
}

/** A pod's own address, from a variable, as a URL has it. Pods are of the family of the Service before them. */
export function podHost(variable: string, clusterIP: string | undefined): string {
  return isIPv6(clusterIP) ? `[$(${variable})]` : `$(${variable})`;
}

function isIPv6(clusterIP: string | undefined): boolean {
  return clusterIP?.includes(":") ?? false;
}
