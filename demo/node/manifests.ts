import { readFile } from "node:fs/promises";

/** In the order in which they are applied. */
const FILES = ["namespaces", "control-plane", "provisioner", "workspace-proxy"];

/** The values that the manifests lack. */
export interface NodeManifestValues {
  readonly coderImage: string;
  readonly databaseUrl: string;
  readonly license: string;
}

/** All manifests of the demo on a node, and the Secrets that they refer to. */
export async function nodeManifests({
  coderImage,
  databaseUrl,
  license,
}: NodeManifestValues): Promise<string> {
  const [namespaces = "", ...objects] = await Promise.all(FILES.map(readManifest));
  const secrets = [secret("coder-db", { url: databaseUrl }), secret("coder-license", { license })];
  return [namespaces, ...secrets, ...objects].join("\n---\n").replace("$CODER_IMAGE", () => coderImage);
}

function secret(name: string, stringData: Readonly<Record<string, string>>): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace: "demo" },
    stringData,
  });
}

function readManifest(name: string): Promise<string> {
  return readFile(new URL(`manifests/${name}.yaml`, import.meta.url), "utf8");
}
