import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onFreePort, Supervised, untilReady } from "kube-controller-runtime/testing";
import type { Database } from "../../../lab/postgres.ts";
import { serverSettings } from "./server-settings.ts";

/** A coderd without a cluster around it. */
export interface LoneCoderd extends AsyncDisposable {
  readonly url: string;
}

/** Starts the given Coder on a database. Returns once it answers. */
export async function startLoneCoderd(binary: string, { url }: Database): Promise<LoneCoderd> {
  const dir = await mkdtemp(join(tmpdir(), "coder-k8s-coderd-"));
  return onFreePort(async (port) => {
    const coderd = new Supervised({
      command: binary,
      args: ["server", `--http-address=127.0.0.1:${port}`, "--access-url=http://coder.example"],
      env: {
        ...serverSettings,
        CODER_PG_CONNECTION_URL: `${url}?sslmode=disable`,
        HOME: dir,
        PATH: process.env.PATH,
      },
      logFile: join(dir, "log"),
      scratch: dir,
    });
    const address = `http://127.0.0.1:${port}`;
    await untilReady(coderd, async () => (await fetch(`${address}/healthz`)).ok);
    return {
      url: address,
      [Symbol.asyncDispose]: async () => {
        await coderd.stop("SIGKILL");
        await rm(dir, { recursive: true, force: true });
      },
    };
  });
}
