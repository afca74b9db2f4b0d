import { existsSync, readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Descriptor } from "../../tools/image/oci.ts";

/** A registry on this machine. */
export interface LayoutRegistry extends AsyncDisposable {
  /** `host:port`; it speaks plain HTTP. */
  readonly address: string;
}

/** Serves OCI layouts, by the name of each repository, as a registry does to those who pull. */
export async function serveLayouts(layouts: Readonly<Record<string, string>>): Promise<LayoutRegistry> {
  const server = createServer(({ url = "", method }, response) => {
    const [, name = "", kind, reference = ""] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(url) ?? [];
    const layout = layouts[name];
    if (url === "/v2/") response.end("{}");
    else if (layout === undefined || kind === undefined) notFound(response);
    else sendBlob(response, layout, { reference, withContent: method !== "HEAD" });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function sendBlob(
  response: ServerResponse,
  layout: string,
  { reference, withContent }: { reference: string; withContent: boolean },
): void {
  const { manifests }: { manifests: Descriptor[] } = JSON.parse(
    readFileSync(join(layout, "index.json"), "utf8"),
  );
  const tagged = manifests.find(
    ({ digest, annotations }) =>
      digest === reference || annotations?.["org.opencontainers.image.ref.name"] === reference,
  );
  const digest = tagged?.digest ?? reference;
  const file = join(layout, "blobs", digest.replace(":", "/"));
  if (!existsSync(file)) {
    notFound(response);
    return;
  }
  const content = readFileSync(file);
  response.writeHead(200, {
    "content-type": tagged?.mediaType ?? "application/octet-stream",
    "content-length": content.length,
    "docker-content-digest": digest,
  });
  response.end(withContent ? content : undefined);
}

function notFound(response: ServerResponse): void {
  response.writeHead(404).end();
}
