/*
 * Support for clusters with IPv6 Services and pods. In IPv4 clusters, the values are the same as in earlier
 * versions, so that no pod is replaced.
 */

/**
 * The address to listen on all addresses of a pod. In Go, the first is IPv4 only, and the second is
 * dual-stack.
 */
export function anyAddress(clusterIP: string | undefined): "0.0.0.0" | "[::]" {
  return isIPv6(clusterIP) ? "[::]" : "0.0.0.0";
}

/**
 * Formats a pod's own IP address from a variable for a URL. Pods have the address family of their Service.
 */
export function podHost(variable: string, clusterIP: string | undefined): string {
  return isIPv6(clusterIP) ? `[$(${variable})]` : `$(${variable})`;
}

function isIPv6(clusterIP: string | undefined): boolean {
  return clusterIP?.includes(":") ?? false;
}
