import { createPrivateKey, X509Certificate } from "node:crypto";
import type { Identity, RequestHeaders, TlsOptions } from "../identity.ts";
import { KubeconfigError } from "../kubeconfig-error.ts";
import type { ClusterSettings } from "./cluster.ts";
import { contentOf, type Material } from "./material.ts";
import type { Settings } from "./merge.ts";
import type { PluginCredential } from "./plugin-credential.ts";
import type { UserSettings } from "./user.ts";

interface Pair {
  readonly cert: string;
  readonly key: string;
}

/**
 * Reads every file that the settings refer to. Throws if one can't be read, or if a certificate and its key
 * do not match, as during a rotation.
 */
export async function readIdentity(
  { cluster, user }: Settings,
  answer: PluginCredential | undefined,
): Promise<Identity> {
  const pair = answer?.certificate ?? (await pairOf(user));
  if (pair) check(pair, answer?.certificate ? "the output of the exec plugin" : whereOf(user));
  return {
    tls: { ...(await trustOf(cluster)), ...pair },
    headers: { ...(await authorization(user, answer)), ...user.impersonation },
  };
}

async function trustOf({ authority, serverName, skipVerification }: ClusterSettings): Promise<TlsOptions> {
  return {
    ...(authority && { ca: await contentOf(authority) }),
    ...(serverName !== undefined && { servername: serverName }),
    ...(skipVerification && { rejectUnauthorized: false }),
  };
}

async function pairOf({ certificate }: UserSettings): Promise<Pair | undefined> {
  if (!certificate) return undefined;
  return { cert: await contentOf(certificate.cert), key: await contentOf(certificate.key) };
}

function whereOf({ certificate }: UserSettings): string {
  return `${certificate?.cert.field} and ${certificate?.key.field} of ${certificate?.cert.where}`;
}

/** The message of OpenSSL is omitted, because it may describe the key. */
function check({ cert, key }: Pair, where: string): void {
  let belongTogether: boolean;
  try {
    belongTogether = new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    throw new KubeconfigError(`${where}: not a certificate and an unencrypted key in PEM`);
  }
  if (!belongTogether) throw new KubeconfigError(`${where}: the key does not belong to the certificate`);
}

async function authorization(
  { token, basic }: UserSettings,
  answer: PluginCredential | undefined,
): Promise<RequestHeaders> {
  if (basic !== undefined) return { Authorization: `Basic ${basic}` };
  if (answer?.token !== undefined) return bearer(answer.token, "the token of the exec plugin");
  if (token) return bearer(await contentOf(token), nameOf(token));
  return {};
}

function nameOf(token: Material): string {
  const file = "file" in token ? ` (${token.file})` : "";
  return `${token.field} of ${token.where}${file}`;
}

/** Manually created files end with a newline, which is not allowed in a header. */
function bearer(content: string, name: string): RequestHeaders {
  const token = content.trim();
  if (token === "") throw new KubeconfigError(`${name} is empty`);
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new KubeconfigError(`${name} has characters that are not allowed in a token`);
  return { Authorization: `Bearer ${token}` };
}
