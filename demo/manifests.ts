import { readFile } from "node:fs/promises";

export const NAMESPACE = "demo";

/** In a good order for reading. */
const FILES = ["namespace", "secrets", "control-plane", "provisioner", "workspace-proxy"];

/** The values that `manifests/secrets.yaml` lacks. */
export interface SecretValues {
  readonly databaseUrl: string;
  readonly license: string;
}

/** All manifests of the demo as one document. */
export async function manifests({ databaseUrl, license }: SecretValues): Promise<string> {
  const texts = await Promise.all(FILES.map(readManifest));
  return texts
    .join("---\n")
    .replace("$DATABASE_URL", () => databaseUrl)
    .replace("$LICENSE", () => license);
}

/** A Secret with another license, which replaces the first. */
export function licenseManifest(license: string): string {
  const metadata = { name: "coder-license", namespace: NAMESPACE };
  return JSON.stringify(
    { apiVersion: "v1", kind: "Secret", metadata, stringData: { license } },
    undefined,
    2,
  );
}

function readManifest(name: string): Promise<string> {
  return readFile(new URL(`manifests/${name}.yaml`, import.meta.url), "utf8");
}
