import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { VirtualClock } from "../testing/clock.ts";
import { systemClock } from "./clock.ts";
import { type Checks, type HttpServer, parseListenAddress, serveMetrics, serveProbes } from "./http.ts";

const servers: HttpServer[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

function track(server: HttpServer | undefined): HttpServer {
  if (!server) throw new Error("nothing listens");
  servers.push(server);
  return server;
}

async function probes(checks: { healthz?: Checks; readyz?: Checks }, clock = systemClock) {
  const address = "127.0.0.1:0";
  const server = track(await serveProbes({ address, clock, healthz: {}, readyz: {}, ...checks }));
  return (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${server.port}${path}`, init);
}

describe("serveProbes", () => {
  it("answers /healthz without running the readiness checks", async () => {
    const get = await probes({
      readyz: {
        never: () => {
          throw new Error("must not run");
        },
      },
    });
    const response = await get("/healthz");
    expect([response.status, await response.text()]).toEqual([200, "ok\n"]);
  });

  it("is ready when every check passes", async () => {
    const get = await probes({ readyz: { secrets: () => true, leases: async () => true } });
    const response = await get("/readyz");
    expect([response.status, await response.text()]).toEqual([200, "[+] secrets\n[+] leases\nok\n"]);
  });

  it("answers 500 with the name of what is not ready", async () => {
    const get = await probes({
      readyz: {
        secrets: () => true,
        deployments: () => false,
        leases: async () => Promise.reject(new Error("no permission")),
      },
    });
    const response = await get("/readyz?verbose");
    expect(response.status).toBe(500);
    expect(await response.text()).toBe(
      "[+] secrets\n[-] deployments: not ready\n[-] leases: no permission\nfailed\n",
    );
  });

  it("responds within two seconds if a check hangs, and names it", async () => {
    const clock = new VirtualClock();
    const get = await probes({ readyz: { stuck: () => new Promise(() => {}), fine: () => true } }, clock);
    const answer = get("/readyz");
    while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(1_900);
    const response = await answer;
    expect(response.status).toBe(500);
    expect(await response.text()).toContain("[-] stuck: timed out\n[+] fine\n");
  });

  it("leaves no timer behind when checks answer", async () => {
    const clock = new VirtualClock();
    const get = await probes({ readyz: { fine: () => true } }, clock);
    await get("/readyz");
    expect(clock.pending).toBe(0);
  });

  it.each([
    ["/other", "GET", 404],
    ["/healthz", "POST", 405],
    ["/healthz", "HEAD", 200],
  ])("answers %s %s with %i", async (path, method, status) => {
    const get = await probes({});
    expect((await get(path, { method })).status).toBe(status);
  });
});

describe("serveMetrics", () => {
  it("serves what the registry says, in its content type", async () => {
    const registry = { contentType: "text/plain; version=0.0.4", metrics: async () => "leader 1\n" };
    const { port } = track(await serveMetrics({ address: "127.0.0.1:0", registry }));
    const response = await fetch(`http://127.0.0.1:${port}/metrics`);
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4");
    expect(await response.text()).toBe("leader 1\n");
  });

  it("responds with 500 when the registry fails, and continues to serve", async () => {
    const registry = { contentType: "text/plain", metrics: () => Promise.reject(new Error("bad gauge")) };
    const { port } = track(await serveMetrics({ address: "127.0.0.1:0", registry }));
    for (let n = 0; n < 2; n++) expect((await fetch(`http://127.0.0.1:${port}/metrics`)).status).toBe(500);
  });
});

describe("a listen address", () => {
  const registry = { contentType: "text/plain", metrics: async () => "" };

  it("of 0 serves nothing", async () => {
    expect(await serveMetrics({ address: "0", registry })).toBeUndefined();
  });

  it.each([
    [":8081", { port: 8081 }],
    ["127.0.0.1:0", { host: "127.0.0.1", port: 0 }],
    ["localhost:65535", { host: "localhost", port: 65_535 }],
    ["[::1]:8080", { host: "::1", port: 8080 }],
  ])("may be %s", (address, listen) => {
    expect(parseListenAddress(address)).toEqual(listen);
  });

  it.each(["", "8080", "host", ":99999", "::1:80", "a:b"])("may not be '%s'", async (address) => {
    await expect(serveMetrics({ address, registry })).rejects.toThrow("is not a listen address");
  });

  it("that is taken fails with its name", async () => {
    const { port } = track(await serveMetrics({ address: "127.0.0.1:0", registry }));
    const address = `127.0.0.1:${port}`;
    await expect(serveMetrics({ address, registry })).rejects.toThrow(`can't listen on ${address}`);
  });
});

it("closing does not wait for idle or half-open connections", async () => {
  const server = track(
    await serveMetrics({ address: "127.0.0.1:0", registry: { contentType: "", metrics: async () => "" } }),
  );
  const socket = connect(server.port, "127.0.0.1");
  socket.on("error", () => {});
  await new Promise((resolve) => socket.once("connect", resolve));
  socket.write("GET /metrics HTTP/1.1\r\n");
  const ended = new Promise((resolve) => socket.once("close", resolve));
  await server.close();
  await ended;
});
