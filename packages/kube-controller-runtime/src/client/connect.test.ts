import { once } from "node:events";
import { createServer as createPlainServer, type RequestListener, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type ConnectProxy, startConnectProxy } from "../../test/support/connect-proxy.ts";
import { base64, execAnswer, execUser, kubeconfigFolder } from "../../test/support/kubeconfig-folder.ts";
import { createCertificateAuthority } from "../../testing/certificates.ts";
import { loadCredentials } from "./credentials.ts";
import { readText } from "./response.ts";
import { httpTransport } from "./transport.ts";

const authority = createCertificateAuthority("Cluster CA");
const client = authority.issue(["jane"]);
const ca = { "certificate-authority-data": base64(authority.cert) };

/** Responds with the client's identity. */
const whoAmI: RequestListener = ({ socket, headers, rawHeaders }, response) => {
  const certificate = (socket as TLSSocket).getPeerCertificate?.().subject?.CN;
  const groups = rawHeaders.filter((_, index) => rawHeaders[index - 1] === "Impersonate-Group");
  const who = { certificate, authorization: headers.authorization, as: headers["impersonate-user"], groups };
  response.end(JSON.stringify(who));
};

async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** The port of an API server that requests client certificates. */
function secureServer(...names: string[]): Promise<number> {
  const certificate = authority.issue(names.length > 0 ? names : ["127.0.0.1"]);
  const options = { ...certificate, ca: authority.cert, requestCert: true, rejectUnauthorized: false };
  return listen(createSecureServer(options, whoAmI));
}

async function proxyFor(certificate?: Parameters<typeof startConnectProxy>[0]): Promise<ConnectProxy> {
  const proxy = await startConnectProxy(certificate);
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  return proxy;
}

/** The identity at the server with this kubeconfig. */
async function ask(user: object, cluster: object): Promise<unknown> {
  const { kubeconfig } = kubeconfigFolder();
  const transport = httpTransport(await loadCredentials({ kubeconfig: kubeconfig(user, cluster) }));
  onTestFinished(() => transport.close());
  const { signal } = new AbortController();
  const { body } = await transport.send({ method: "GET", path: "/", headers: {}, signal });
  return JSON.parse(await readText(body));
}

describe("straight to the server", () => {
  test("a client certificate of the kubeconfig is shown", async () => {
    const user = { "client-certificate-data": base64(client.cert), "client-key-data": base64(client.key) };
    const server = `https://127.0.0.1:${await secureServer()}`;
    expect(await ask(user, { server, ...ca })).toMatchObject({ certificate: "jane" });
  });

  test("a client certificate of an exec plugin is shown", async () => {
    const answer = execAnswer({ clientCertificateData: client.cert, clientKeyData: client.key });
    const server = `https://127.0.0.1:${await secureServer()}`;
    const user = execUser(`cat <<'END'\n${answer}\nEND`);
    expect(await ask(user, { server, ...ca })).toMatchObject({ certificate: "jane" });
  });

  test("every group to impersonate has a separate header", async () => {
    const server = `http://127.0.0.1:${await listen(createPlainServer(whoAmI))}`;
    const user = { token: "t", as: "jane", "as-groups": ["a", "b"] };
    expect(await ask(user, { server })).toMatchObject({
      authorization: "Bearer t",
      as: "jane",
      groups: ["a", "b"],
    });
  });

  test("the server is checked by tls-server-name where there is one", async () => {
    const server = `https://127.0.0.1:${await secureServer("kubernetes.default.svc")}`;
    const named = { server, ...ca, "tls-server-name": "kubernetes.default.svc" };
    expect(await ask({ token: "t" }, named)).toMatchObject({ authorization: "Bearer t" });
    await expect(ask({ token: "t" }, { server, ...ca })).rejects.toThrow(/altnames/);
  });

  test("a server without a known CA is refused unless verification is off", async () => {
    const server = `https://127.0.0.1:${await secureServer()}`;
    await expect(ask({}, { server })).rejects.toThrow(/certificate/);
    expect(await ask({}, { server, "insecure-skip-tls-verify": true })).toBeDefined();
  });
});

describe("through a proxy", () => {
  test("the server sees the client certificate, and the proxy its own password", async () => {
    const proxy = await proxyFor();
    const port = await secureServer();
    const user = { "client-certificate-data": base64(client.cert), "client-key-data": base64(client.key) };
    const cluster = {
      server: `https://127.0.0.1:${port}`,
      ...ca,
      "proxy-url": `http://me:p%40ss@127.0.0.1:${proxy.port}`,
    };
    expect(await ask(user, cluster)).toMatchObject({ certificate: "jane" });
    expect(proxy.asked).toEqual([`127.0.0.1:${port}`]);
    expect(proxy.authorizations).toEqual([`Basic ${base64("me:p@ss")}`]);
  });

  test("the server is checked as without it", async () => {
    const { port } = await proxyFor();
    const cluster = {
      server: `https://127.0.0.1:${await secureServer("elsewhere")}`,
      ...ca,
      "proxy-url": `http://127.0.0.1:${port}`,
    };
    await expect(ask({}, cluster)).rejects.toThrow(/altnames/);
    expect(await ask({ token: "t" }, { ...cluster, "tls-server-name": "elsewhere" })).toMatchObject({
      authorization: "Bearer t",
    });
  });

  test("a proxy that speaks TLS may have a certificate of the cluster's CA", async () => {
    const proxy = await proxyFor(authority.issue(["127.0.0.1"]));
    const cluster = {
      server: `https://127.0.0.1:${await secureServer()}`,
      ...ca,
      "proxy-url": `https://127.0.0.1:${proxy.port}`,
    };
    expect(await ask({ token: "t" }, cluster)).toMatchObject({ authorization: "Bearer t" });
    expect(proxy.asked).toHaveLength(1);
  });

  test("a proxy with an untrusted certificate is refused, even if the server's is not verified", async () => {
    const proxy = await proxyFor(createCertificateAuthority().issue(["127.0.0.1"]));
    const cluster = {
      server: `https://127.0.0.1:${await secureServer()}`,
      "insecure-skip-tls-verify": true,
      "proxy-url": `https://me:s3cr3t@127.0.0.1:${proxy.port}`,
    };
    await expect(ask({}, cluster)).rejects.toThrow(`proxy 127.0.0.1:${proxy.port}: `);
    expect(proxy.asked).toEqual([]);
  });

  test("a server without TLS is reached by a tunnel, too", async () => {
    const proxy = await proxyFor();
    const port = await listen(createPlainServer(whoAmI));
    const cluster = { server: `http://127.0.0.1:${port}`, "proxy-url": `http://127.0.0.1:${proxy.port}` };
    expect(await ask({ token: "t" }, cluster)).toMatchObject({ authorization: "Bearer t" });
    expect(proxy.asked).toEqual([`127.0.0.1:${port}`]);
  });

  test("a proxy that refuses is named with what it answered, and without its password", async () => {
    const proxy = await proxyFor();
    proxy.refusal = { status: "407 Proxy Authentication Required" };
    const cluster = {
      server: `https://127.0.0.1:${await secureServer()}`,
      "proxy-url": `http://me:s3cr3t@127.0.0.1:${proxy.port}`,
    };
    const error = await ask({}, cluster).catch((reason: unknown) => reason);
    expect(String(error)).toBe(`Error: proxy 127.0.0.1:${proxy.port}: responded to CONNECT with 407`);
  });

  test("an IPv6 address is requested in brackets", async () => {
    const proxy = await proxyFor();
    proxy.refusal = { status: "502 Bad Gateway" };
    const cluster = { server: "https://[fd00::1]:6443", "proxy-url": `http://127.0.0.1:${proxy.port}` };
    await expect(ask({}, cluster)).rejects.toThrow("responded to CONNECT with 502");
    expect(proxy.asked).toEqual(["[fd00::1]:6443"]);
  });

  test("a proxy that does not respond times out after five seconds", async () => {
    const proxy = await proxyFor();
    proxy.refusal = "silence";
    const cluster = { "proxy-url": `http://127.0.0.1:${proxy.port}` };
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const asking = expect(ask({}, cluster)).rejects.toThrow("did not respond within 5 seconds");
    while (proxy.asked.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(5_000);
    await asking;
  });

  test("an unreachable proxy is named", async () => {
    const cluster = { "proxy-url": "http://127.0.0.1:1" };
    await expect(ask({}, cluster)).rejects.toThrow(/^proxy 127\.0\.0\.1:1: .*ECONNREFUSED/);
  });
});
