import { layerOf, type PlatformImage, writeLayout } from "../../tools/image/oci.ts";

/** The variables of the base. */
export const baseEnv = ["SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"];

/** Writes an image for both platforms whose Node is its platform's name, for images that nobody runs. */
export async function writeBaseLayout(dir: string): Promise<void> {
  const config = {
    User: "0",
    WorkingDir: "/",
    Entrypoint: [],
    Cmd: [],
    Env: baseEnv,
    ExposedPorts: {},
    Labels: {},
  };
  const images = ["amd64", "arm64"].map(async (architecture): Promise<PlatformImage> => {
    const node = { type: "file", path: "nodejs/bin/node", content: Buffer.from(architecture) } as const;
    return { architecture, layers: [await layerOf([node])], config, created: undefined };
  });
  await writeLayout(dir, await Promise.all(images), { name: "base", tag: "1" });
}
