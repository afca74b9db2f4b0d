import { type ProxyAddress, proxyOf } from "../proxy/address.ts";
import type { Entry } from "./file.ts";
import { fileOrData, type Material } from "./material.ts";

/** The address of the API server and how to verify it. */
export interface ClusterSettings {
  readonly server: URL;
  readonly proxy?: ProxyAddress | undefined;
  readonly proxyUrl?: string | undefined;
  readonly authority: Material | undefined;
  readonly serverName?: string | undefined;
  readonly skipVerification: boolean;
  /** The cluster's configuration for credential plugins. */
  readonly pluginConfig?: unknown;
}

const PLUGIN_EXTENSION = "client.authentication.k8s.io/exec";

/** Parses a cluster of a kubeconfig; throws if a setting is not supported. */
export function clusterSettings(entry: Entry): ClusterSettings {
  const { fields } = entry;
  const authority = fileOrData(entry, "certificate-authority");
  const skipVerification = fields.flag("insecure-skip-tls-verify");
  if (authority && skipVerification)
    throw fields.refuse("insecure-skip-tls-verify", `is set together with ${authority.field}: remove one`);
  const proxyUrl = fields.text("proxy-url");
  return {
    server: serverOf(entry),
    proxy: proxyUrl === undefined ? undefined : proxyOf(proxyUrl, `proxy-url of ${fields.where}`),
    proxyUrl,
    authority,
    serverName: fields.text("tls-server-name"),
    skipVerification,
    pluginConfig: fields
      .maps("extensions")
      .find((extension) => extension.text("name") === PLUGIN_EXTENSION)
      ?.raw("extension"),
  };
}

function serverOf({ fields }: Entry): URL {
  const server = URL.parse(fields.required("server"));
  if (!server || !/^https?:$/.test(server.protocol))
    throw fields.refuse("server", "must be a URL that starts with https:// or http://");
  if (server.username || server.password || server.search)
    throw fields.refuse("server", "must not contain credentials or a query");
  return server;
}
