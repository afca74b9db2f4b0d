import { KubeconfigError } from "../kubeconfig-error.ts";

/** An HTTP proxy that opens tunnels. */
export interface ProxyAddress {
  readonly host: string;
  readonly port: number;
  /** Whether the proxy itself is spoken to by TLS. */
  readonly isSecure: boolean;
  /** The value of `Proxy-Authorization`. */
  readonly authorization: string | undefined;
}

/** The proxy that a URL names. `where` is all that a message says of it: the URL may hold a password. */
export function proxyOf(text: string, where: string): ProxyAddress {
  const url = URL.parse(text);
  if (!url?.hostname) throw new KubeconfigError(`${where} is not a URL`);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new KubeconfigError(
      `${where} must begin with http:// or https://: other proxies are not supported`,
    );
  const isSecure = url.protocol === "https:";
  const { username, password } = url;
  const user = `${decoded(username, where)}:${decoded(password, where)}`;
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: Number(url.port || (isSecure ? 443 : 80)),
    isSecure,
    authorization: user === ":" ? undefined : `Basic ${Buffer.from(user).toString("base64")}`,
  };
}

function decoded(text: string, where: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new KubeconfigError(`${where} has a malformed user or password`);
  }
}
