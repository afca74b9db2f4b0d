import type { Clock } from "../../clock.ts";
import { KubeconfigError } from "../kubeconfig-error.ts";
import type { ClusterSettings } from "./cluster.ts";
import { Fields } from "./fields.ts";
import { contentOf } from "./material.ts";
import { failure, runPlugin } from "./plugin.ts";
import type { PluginSettings } from "./plugin-settings.ts";

/** The credential that a plugin returned. */
export interface PluginCredential {
  readonly token: string | undefined;
  readonly certificate: { readonly cert: string; readonly key: string } | undefined;
  /** Milliseconds since the epoch; absent if it is valid until the API server rejects it. */
  readonly expiresAt: number | undefined;
}

/** Runs a plugin and returns its credential, or throws an error with the plugin's message. */
export async function askPlugin(
  plugin: PluginSettings,
  cluster: ClusterSettings,
  clock: Clock,
): Promise<PluginCredential> {
  const info = {
    apiVersion: plugin.apiVersion,
    kind: "ExecCredential",
    spec: { interactive: false, ...(plugin.providesClusterInfo && { cluster: await clusterInfo(cluster) }) },
  };
  const output = await runPlugin(plugin, JSON.stringify(info), clock);
  try {
    return credentialIn(output, plugin);
  } catch (error) {
    if (error instanceof KubeconfigError) throw error;
    // A parser's message quotes its input, which may contain the token.
    throw failure(plugin, "did not print an ExecCredential in JSON");
  }
}

/** The cluster in the format of the plugin API, with the content of its CA instead of a file name. */
async function clusterInfo(cluster: ClusterSettings): Promise<object> {
  const { authority, serverName, proxyUrl, skipVerification, pluginConfig } = cluster;
  const ca = authority && Buffer.from(await contentOf(authority)).toString("base64");
  return {
    server: cluster.server.href.replace(/\/$/, ""),
    ...(serverName !== undefined && { "tls-server-name": serverName }),
    ...(skipVerification && { "insecure-skip-tls-verify": true }),
    ...(ca !== undefined && { "certificate-authority-data": ca }),
    ...(proxyUrl !== undefined && { "proxy-url": proxyUrl }),
    ...(pluginConfig !== undefined && { config: pluginConfig }),
  };
}

function credentialIn(output: string, plugin: PluginSettings): PluginCredential {
  const answer = new Fields(JSON.parse(output), `the output of ${plugin.command}`);
  const { apiVersion } = plugin;
  if (answer.text("kind") !== "ExecCredential" || answer.text("apiVersion") !== apiVersion)
    throw failure(plugin, `did not print an ExecCredential of ${apiVersion}`);
  const status = answer.map("status");
  const token = status?.text("token");
  const [cert, key] = [status?.text("clientCertificateData"), status?.text("clientKeyData")];
  if ((cert === undefined) !== (key === undefined))
    throw failure(plugin, "returned only one of clientCertificateData and clientKeyData");
  if (token === undefined && cert === undefined)
    throw failure(plugin, "returned neither a token nor a client certificate");
  const expiresAt = expiryIn(status?.text("expirationTimestamp"), plugin);
  return { token, certificate: cert && key ? { cert, key } : undefined, expiresAt };
}

function expiryIn(timestamp: string | undefined, plugin: PluginSettings): number | undefined {
  if (timestamp === undefined) return undefined;
  const time = Date.parse(timestamp);
  if (Number.isNaN(time)) throw failure(plugin, "returned an expirationTimestamp that is not a timestamp");
  return time;
}
