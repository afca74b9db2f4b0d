import { BlockList, isIP } from "node:net";
import { type ProxyAddress, proxyOf } from "./address.ts";

interface Target {
  readonly host: string;
  readonly port: string;
  /** 4 or 6 for an address, 0 for a name. */
  readonly family: number;
}

/**
 * The proxy for a server according to the environment, by the rules of Go's `ProxyFromEnvironment`, which
 * client-go and kubectl use: `HTTPS_PROXY` or `HTTP_PROXY` by the server's scheme, upper case before lower
 * case, and no proxy for localhost, loopback addresses and entries of `NO_PROXY`.
 */
export function proxyFromEnvironment(server: URL, env: NodeJS.ProcessEnv): ProxyAddress | undefined {
  const name = server.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const address = env[name] || env[name.toLowerCase()];
  if (!address || isExempt(server, env.NO_PROXY || env.no_proxy || "")) return undefined;
  // Go also accepts "proxy:3128".
  return proxyOf(/^[\w+.-]+:\/\//.test(address) ? address : `http://${address}`, name);
}

function isExempt(server: URL, list: string): boolean {
  const host = unmapped(server.hostname.replace(/^\[|\]$/g, "").toLowerCase());
  const port = server.port || (server.protocol === "https:" ? "443" : "80");
  const target: Target = { host, port, family: isIP(host) };
  const loopback = target.family === 6 ? (["::1", 128] as const) : (["127.0.0.0", 8] as const);
  if (host === "localhost" || contains(loopback, target)) return true;
  return list.split(",").some((item) => matches(item.trim().toLowerCase(), target));
}

function matches(item: string, target: Target): boolean {
  if (item === "*") return true;
  const [, network = "", prefix = ""] = /^(.+)\/(\d+)$/.exec(item) ?? [];
  if (isIP(network)) return contains([network, Number(prefix)], target);
  const { host, port } = hostAndPort(item);
  if (host === "" || (port !== "" && port !== target.port)) return false;
  if (isIP(host)) return contains([host, isIP(host) === 6 ? 128 : 32], target);
  return target.family === 0 && isDomainOf(host, target.host);
}

/** Parses `host`, `host:port`, `[::1]:port` or a bare IPv6 address. */
function hostAndPort(item: string): { host: string; port: string } {
  const [, host, port = ""] = isIP(item) ? [] : (/^(.*):(\d*)$/.exec(item) ?? []);
  return { host: unmapped(host?.replace(/^\[|\]$/g, "") ?? item), port };
}

/** Converts an IPv4-mapped IPv6 address to IPv4. */
function unmapped(host: string): string {
  if (isIP(host) !== 6) return host;
  const [, high = "", low = ""] = /^\[::ffff:(\w+):(\w+)\]$/.exec(new URL(`http://[${host}]`).hostname) ?? [];
  if (low === "") return host;
  return [high, low]
    .flatMap((word) => [Number.parseInt(word, 16) >> 8, Number.parseInt(word, 16) & 255])
    .join(".");
}

/**
 * "example.com" matches the domain and its subdomains; ".example.com" and "*.example.com" only subdomains.
 */
function isDomainOf(domain: string, host: string): boolean {
  const suffix = domain.replace(/^\*\./, ".");
  if (suffix.startsWith(".")) return host.endsWith(suffix);
  return host === suffix || host.endsWith(`.${suffix}`);
}

function contains([network, prefix]: readonly [string, number], { host, family }: Target): boolean {
  const ofNetwork = isIP(network);
  if (ofNetwork !== family || prefix > (ofNetwork === 6 ? 128 : 32)) return false;
  const list = new BlockList();
  const type = family === 6 ? "ipv6" : "ipv4";
  list.addSubnet(network, prefix, type);
  return list.check(host, type);
}
