import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import type { Reader } from "./shell-user.ts";

interface Published {
  readonly name: string;
  /** The folder of the chart. */
  readonly chart: string;
  readonly version: string;
}

/** A repository of Helm charts with one chart, as a reader of the documentation has added it. */
export class ChartRepository implements AsyncDisposable {
  readonly #owned: AsyncDisposableStack;

  private constructor(owned: AsyncDisposableStack) {
    this.#owned = owned;
  }

  static async add(reader: Reader, { name, chart, version }: Published): Promise<ChartRepository> {
    await using owned = new AsyncDisposableStack();
    const folder = await mkdtemp(join(reader.folder, "charts-"));
    owned.defer(() => rm(folder, { recursive: true, force: true }));
    await reader.types(
      `helm package ${chart} --dependency-update --version ${version} --destination ${folder}`,
    );
    const server = createServer(async ({ url = "" }, response) => {
      const content = await readFile(join(folder, basename(url))).catch(() => undefined);
      response.writeHead(content ? 200 : 404).end(content);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    owned.defer(async () => {
      server.closeAllConnections();
      await promisify(server.close.bind(server))();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await reader.types(`helm repo index ${folder} --url ${url}\nhelm repo add ${name} ${url}`);
    return new ChartRepository(owned.move());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}
