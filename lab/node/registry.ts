import { execFile } from "node:child_process";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

interface Index {
  readonly manifests: readonly { readonly digest: string; readonly mediaType: string }[];
}

/** A registry with one image, under every name and tag. */
export interface Registry extends AsyncDisposable {
  readonly url: string;
}

/** Serves an image, an OCI archive, at an address of this machine until it is disposed. */
export async function startRegistry(archive: string, address: string): Promise<Registry> {
  await using owned = new AsyncDisposableStack();
  const layout = await mkdtemp(join(tmpdir(), "coder-k8s-registry-"));
  owned.defer(() => rm(layout, { recursive: true, force: true }));
  await promisify(execFile)("tar", ["--extract", "--file", archive, "--directory", layout]);
  const index: Index = JSON.parse(await readFile(join(layout, "index.json"), "utf8"));
  const server = createServer(async ({ method, url = "" }, response) => {
    const [, kind, reference = ""] = /^\/v2\/.*\/(manifests|blobs)\/([^?]+)/.exec(url) ?? [];
    if (kind === undefined) return void response.end();
    const digest = reference.includes(":") ? reference : (index.manifests[0]?.digest ?? "");
    return sendBlob(response, {
      file: join(layout, "blobs", digest.replace(":", "/")),
      digest,
      kind,
      method,
    });
  });
  server.listen(0, address);
  await once(server, "listening");
  owned.defer(async () => {
    server.closeAllConnections();
    await promisify(server.close.bind(server))();
  });
  const { port } = server.address() as AddressInfo;
  const resources = owned.move();
  return { url: `http://${address}:${port}`, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

interface Asked {
  readonly file: string;
  readonly digest: string;
  readonly kind: string;
  readonly method: string | undefined;
}

async function sendBlob(response: ServerResponse, { file, digest, kind, method }: Asked): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (!found) return void response.writeHead(404).end();
  const type =
    kind === "manifests" ? JSON.parse(await readFile(file, "utf8")).mediaType : "application/octet-stream";
  response.writeHead(200, {
    "content-type": type,
    "content-length": found.size,
    "docker-content-digest": digest,
  });
  if (method === "HEAD") response.end();
  else createReadStream(file).pipe(response);
}
