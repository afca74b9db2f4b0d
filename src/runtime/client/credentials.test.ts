import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createCertificateAuthority } from "../../../test/support/certificates.ts";
import { VirtualClock } from "../../../test/support/clock.ts";
import { loadCredentials } from "./credentials.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");

/** A folder of its own, gone after the test. */
function folder() {
  const dir = mkdtempSync(join(tmpdir(), "coder-k8s-credentials-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const write = (name: string, content: string) => {
    writeFileSync(join(dir, name), content);
    return join(dir, name);
  };
  /** JSON is YAML. */
  const kubeconfig = (user: object, cluster: object = {}) =>
    write(
      "kubeconfig",
      JSON.stringify({
        apiVersion: "v1",
        kind: "Config",
        clusters: [{ name: "c", cluster: { server: "https://api.example.com:6443", ...cluster } }],
        users: [{ name: "u", user }],
        contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
        "current-context": "x",
      }),
    );
  return { write, kubeconfig };
}

describe("a kubeconfig", () => {
  test("with a token gives a bearer header", async () => {
    const { kubeconfig } = folder();
    const credentials = await loadCredentials({ kubeconfig: kubeconfig({ token: "t1" }) });
    expect(await credentials.headers()).toEqual({ Authorization: "Bearer t1" });
    expect(credentials).toMatchObject({ origin: "https://api.example.com:6443", pathPrefix: "", tls: {} });
  });

  test("with user and password gives basic authentication", async () => {
    const { kubeconfig } = folder();
    const credentials = await loadCredentials({ kubeconfig: kubeconfig({ username: "u", password: "p" }) });
    expect(await credentials.headers()).toEqual({ Authorization: `Basic ${base64("u:p")}` });
  });

  test("gives certificates, embedded or in files, and how the server is to be trusted", async () => {
    const { kubeconfig, write } = folder();
    const { cert, key } = createCertificateAuthority().issue(["client"]);
    const ca = createCertificateAuthority().cert;
    const user = { "client-certificate-data": base64(cert), "client-key": write("key.pem", key) };
    const cluster = {
      server: "https://rancher.example.com/k8s/clusters/c-1/",
      "certificate-authority": write("ca.pem", ca),
      "tls-server-name": "kubernetes",
    };
    const credentials = await loadCredentials({ kubeconfig: kubeconfig(user, cluster) });
    expect(credentials).toMatchObject({
      origin: "https://rancher.example.com",
      pathPrefix: "/k8s/clusters/c-1",
    });
    const texts = Object.entries(credentials.tls).map(([name, value]) => [name, String(value)]);
    expect(Object.fromEntries(texts)).toEqual({ ca, cert, key, servername: "kubernetes" });
    expect(await credentials.headers()).toEqual({});
  });

  test("may switch verification off, and only then it is off", async () => {
    const { kubeconfig } = folder();
    const careless = kubeconfig({}, { "insecure-skip-tls-verify": true });
    expect((await loadCredentials({ kubeconfig: careless })).tls).toEqual({ rejectUnauthorized: false });
  });

  test("that names no cluster is refused with what to do", async () => {
    const { write } = folder();
    const empty = write("empty", '{"apiVersion":"v1","kind":"Config"}');
    await expect(loadCredentials({ kubeconfig: empty })).rejects.toThrow("set --kubeconfig or KUBECONFIG");
  });

  test("is found through KUBECONFIG, also inside a cluster", async () => {
    const { kubeconfig } = folder();
    vi.stubEnv("KUBECONFIG", kubeconfig({ token: "from-env" }));
    vi.stubEnv("KUBERNETES_SERVICE_HOST", "10.96.0.1");
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await (await loadCredentials()).headers()).toEqual({ Authorization: "Bearer from-env" });
  });
});

describe("a token file", () => {
  const provider = (tokenFile: string) => ({ "auth-provider": { name: "tokenFile", config: { tokenFile } } });

  test("may end with a newline", async () => {
    const { kubeconfig, write } = folder();
    const config = kubeconfig(provider(write("token", "t1\n")));
    expect(await (await loadCredentials({ kubeconfig: config })).headers()).toEqual({
      Authorization: "Bearer t1",
    });
  });

  test("that was rotated is read by a refresh at once", async () => {
    const { kubeconfig, write } = folder();
    const credentials = await loadCredentials({ kubeconfig: kubeconfig(provider(write("token", "t1"))) });
    write("token", "t2");
    expect(await credentials.headers()).toEqual({ Authorization: "Bearer t1" });
    await credentials.refresh();
    expect(await credentials.headers()).toEqual({ Authorization: "Bearer t2" });
  });

  test("that was rotated is read without a refresh within a minute and a bit", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const clock = new VirtualClock();
    const { kubeconfig, write } = folder();
    const config = kubeconfig(provider(write("token", "t1")));
    const credentials = await loadCredentials({ kubeconfig: config }, clock);
    write("token", "t2");
    vi.setSystemTime(Date.now() + 71_000);
    expect(await credentials.headers()).toEqual({ Authorization: "Bearer t1" });
    await clock.advance(10_001);
    expect(await credentials.headers()).toEqual({ Authorization: "Bearer t2" });
  });

  test("that cannot be read fails the refresh and leaves what was known", async () => {
    const { kubeconfig, write } = folder();
    const token = write("token", "t1");
    const credentials = await loadCredentials({ kubeconfig: kubeconfig(provider(token)) });
    rmSync(token);
    await expect(credentials.refresh()).rejects.toThrow("ENOENT");
    expect(await credentials.headers()).toEqual({ Authorization: "Bearer t1" });
    write("token", "t2");
    await credentials.refresh();
    expect(await credentials.headers()).toEqual({ Authorization: "Bearer t2" });
  });
});

describe("an exec plugin", () => {
  const plugin = (script: string) => ({
    exec: { apiVersion: "client.authentication.k8s.io/v1", command: process.execPath, args: ["-e", script] },
  });
  const printing = (status: object) =>
    `console.log(JSON.stringify({kind:"ExecCredential",status:${JSON.stringify(status)}}))`;

  test("is asked for a token, and asked again by a refresh", async () => {
    const { kubeconfig, write } = folder();
    const counter = write("count", "0");
    const script = `const fs=require("fs");const n=1+Number(fs.readFileSync("${counter}","utf8"));
      fs.writeFileSync("${counter}",String(n));console.log(JSON.stringify({status:{token:"t"+n}}))`;
    const credentials = await loadCredentials({ kubeconfig: kubeconfig(plugin(script)) });
    expect(await credentials.headers()).toEqual({ Authorization: "Bearer t1" });
    await Promise.all([credentials.refresh(), credentials.refresh()]);
    expect(await credentials.headers()).toEqual({ Authorization: "Bearer t2" });
  });

  test("may give a client certificate", async () => {
    const { kubeconfig } = folder();
    const { cert, key } = createCertificateAuthority().issue(["client"]);
    const script = printing({ clientCertificateData: cert, clientKeyData: key });
    const credentials = await loadCredentials({ kubeconfig: kubeconfig(plugin(script)) });
    expect(credentials.tls).toEqual({ cert, key });
  });

  test("that fails is reported in its own words", async () => {
    const { kubeconfig } = folder();
    const config = kubeconfig(plugin('console.error("please log in");process.exit(1)'));
    await expect(loadCredentials({ kubeconfig: config })).rejects.toThrow("please log in");
  });
});

test("TLS options are the same value until certificates change", async () => {
  const { kubeconfig, write } = folder();
  const authority = createCertificateAuthority();
  const writePair = ({ cert, key }: { cert: string; key: string }) => ({
    "client-certificate": write("cert.pem", cert),
    "client-key": write("key.pem", key),
  });
  const first = authority.issue(["first"]);
  const credentials = await loadCredentials({ kubeconfig: kubeconfig(writePair(first)) });
  const before = credentials.tls;
  await credentials.refresh();
  expect(credentials.tls).toBe(before);
  const second = authority.issue(["second"]);
  writePair(second);
  await credentials.refresh();
  expect(String(credentials.tls.cert)).toBe(second.cert);
});
