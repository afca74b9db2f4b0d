import { KubeconfigError } from "../kubeconfig-error.ts";

/** An HTTP proxy that supports CONNECT. */
export interface ProxyAddress {
  readonly host: string;
  readonly port: number;
  /** Whether the connection to the proxy itself uses TLS. */
  readonly isSecure: boolean;
  /** The value of `Proxy-Authorization`. */
  readonly authorization: string | undefined;
}

/** Parses the URL of a proxy. Errors contain only `where`, because the URL may contain a password. */
export function proxyOf(text: string, where: string): ProxyAddress {
  const url = URL.parse(text);
  if (!url?.hostname) throw new KubeconfigError(`${where} is not a URL`);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new KubeconfigError(
      `${where} must start with http:// or https://: other proxies are not supported`,
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
    throw new KubeconfigError(`${where} has an invalid user or password`);
  }
}
