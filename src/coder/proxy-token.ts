/** `<id of the proxy>:<secret>`; coderd refuses a token of another shape without looking it up. */
const PROXY_TOKEN = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):[\x21-\x7e]+$/i;

/** The id of the proxy that a proxy's session token is for; absent when it is no such token. */
export function proxyOfToken(token: string): string | undefined {
  return PROXY_TOKEN.exec(token)?.[1]?.toLowerCase();
}
