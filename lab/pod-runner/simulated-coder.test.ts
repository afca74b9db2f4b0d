import { beforeEach, describe, expect, test } from "vitest";
import { CoderdDeployment, type SimulatedProxy } from "../coderd/deployment.ts";
import type { Environment } from "./environment.ts";
import type { Launch } from "./launch.ts";
import { simulatedCoder } from "./simulated-coder.ts";

let coderd: CoderdDeployment;
let launch: Launch;

beforeEach(() => {
  coderd = new CoderdDeployment();
  launch = simulatedCoder(coderd);
});

function start(env: Environment) {
  const container = { name: "coder" };
  return launch({
    pod: { metadata: { name: "pod-1", uid: "1", resourceVersion: "1" }, spec: { containers: [container] } },
    container,
    podIP: "127.9.0.1",
    command: [],
    args: [],
    env,
    sources: async () => undefined,
  });
}

test("coderd itself is ready", async () => {
  expect(await (await start({})).isReady()).toBe(true);
});

describe("a daemon", () => {
  const daemonEnv = (key: string) => ({
    CODER_PROVISIONER_DAEMON_KEY: key,
    CODER_PROVISIONER_DAEMON_NAME: "daemon-1",
  });

  test("joins once with its key and leaves when it is stopped", async () => {
    const { plaintext } = coderd.createKey("organization", "pool", {});
    const container = await start(daemonEnv(plaintext));
    expect([await container.isReady(), await container.isReady()]).toEqual([true, true]);
    expect(coderd.daemons.map(({ name }) => name)).toEqual(["daemon-1"]);
    await container.stop(0);
    await container.ended;
    expect(coderd.daemons).toEqual([]);
  });

  test("is not ready with a key that coderd does not know, or no longer knows", async () => {
    expect(await (await start(daemonEnv("unknown"))).isReady()).toBe(false);
    const key = coderd.createKey("organization", "pool", {});
    const container = await start(daemonEnv(key.plaintext));
    expect(await container.isReady()).toBe(true);
    coderd.deleteKey(key);
    expect(await container.isReady()).toBe(false);
  });
});

describe("a workspace proxy", () => {
  const proxyEnv = { CODER_PROXY_SESSION_TOKEN: "token-1" };

  function register(): SimulatedProxy {
    const proxy: SimulatedProxy = {
      id: "id",
      name: "sydney",
      displayName: "",
      icon: "",
      token: "token-1",
      status: "unregistered",
      errors: [],
      createdAt: "",
      updatedAt: "",
    };
    coderd.proxies.push(proxy);
    return proxy;
  }

  test("is healthy from its first report until its last pod has gone", async () => {
    const proxy = register();
    const [one, two] = [await start(proxyEnv), await start(proxyEnv)];
    expect([await one.isReady(), await two.isReady(), proxy.status]).toEqual([true, true, "ok"]);
    await one.stop(0);
    expect(proxy.status).toBe("ok");
    await two.stop(0);
    expect(proxy.status).toBe("unreachable");
  });

  test("is not ready with a token that coderd does not know", async () => {
    expect(await (await start(proxyEnv)).isReady()).toBe(false);
  });
});
