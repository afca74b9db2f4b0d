import type { Clock } from "../../clock.ts";
import { KubeconfigError } from "../kubeconfig-error.ts";
import type { ClusterSettings } from "./cluster.ts";
import { Fields } from "./fields.ts";
import { contentOf } from "./material.ts";
import { failure, runPlugin } from "./plugin.ts";
import type { PluginSettings } from "./plugin-settings.ts";

/** What a plugin answered. */
export interface PluginCredential {
  readonly token: string | undefined;
  readonly certificate: { readonly cert: string; readonly key: string } | undefined;
  /** Milliseconds since the epoch; absent when it is good until the API server refuses it. */
  readonly expiresAt: number | undefined;
}

/** Asks a plugin for credentials, and throws in its words when it gives none. */
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
    // A parser's message quotes what it could not parse: possibly the token.
    throw failure(plugin, "printed no ExecCredential in JSON");
  }
}

/** The cluster as the API of plugins describes it; its CA goes along, not the name of a file. */
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
  const answer = new Fields(JSON.parse(output), `the answer of ${plugin.command}`);
  const { apiVersion } = plugin;
  if (answer.text("kind") !== "ExecCredential" || answer.text("apiVersion") !== apiVersion)
    throw failure(plugin, `printed something else than an ExecCredential of ${apiVersion}`);
  const status = answer.map("status");
  const token = status?.text("token");
  const [cert, key] = [status?.text("clientCertificateData"), status?.text("clientKeyData")];
  if ((cert === undefined) !== (key === undefined))
    throw failure(plugin, "gave only one of clientCertificateData and clientKeyData");
  if (token === undefined && cert === undefined)
    throw failure(plugin, "gave neither a token nor a client certificate");
  const expiresAt = expiryIn(status?.text("expirationTimestamp"), plugin);
  return { token, certificate: cert && key ? { cert, key } : undefined, expiresAt };
}

function expiryIn(timestamp: string | undefined, plugin: PluginSettings): number | undefined {
  if (timestamp === undefined) return undefined;
  const time = Date.parse(timestamp);
  if (Number.isNaN(time)) throw failure(plugin, "gave an expirationTimestamp that is no time");
  return time;
}
