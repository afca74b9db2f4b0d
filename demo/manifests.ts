import { readFile } from "node:fs/promises";

export const NAMESPACE = "demo";

/** In the order in which somebody who reads them would want them. */
const FILES = ["namespace", "secrets", "control-plane", "provisioner", "workspace-proxy"];

/** What `manifests/secrets.yaml` leaves open. */
export interface SecretValues {
  readonly databaseUrl: string;
  readonly license: string;
}

/** All manifests of the demo as one document to apply. */
export async function manifests({ databaseUrl, license }: SecretValues): Promise<string> {
  const texts = await Promise.all(FILES.map(readManifest));
  return texts
    .join("---\n")
    .replace("$DATABASE_URL", () => databaseUrl)
    .replace("$LICENSE", () => license);
}

/** A Secret with another license, to apply over the first. */
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
