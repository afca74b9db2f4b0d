/** `<proxy ID>:<secret>`. coderd rejects other tokens without a lookup. */
const PROXY_TOKEN = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):[\x21-\x7e]+$/i;

/** Returns the proxy ID in a session token of a proxy, or undefined for other tokens. */
export function proxyOfToken(token: string): string | undefined {
  return PROXY_TOKEN.exec(token)?.[1]?.toLowerCase();
}
