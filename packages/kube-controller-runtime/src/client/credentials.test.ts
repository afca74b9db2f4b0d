import { readFileSync, rmSync } from "node:fs";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { base64, execAnswer, execUser, kubeconfigFolder } from "../../test/support/kubeconfig-folder.ts";
import { createCertificateAuthority } from "../../testing/certificates.ts";
import { VirtualClock } from "../../testing/clock.ts";
import { loadCredentials } from "./credentials.ts";

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

describe("a kubeconfig", () => {
  test("with a token gives a bearer header", async () => {
    const { kubeconfig } = kubeconfigFolder();
    const credentials = await loadCredentials({ kubeconfig: kubeconfig({ token: "t1" }) });
    expect(await credentials.headers()).toEqual(bearer("t1"));
    expect(credentials).toMatchObject({ origin: "https://api.example.com:6443", pathPrefix: "", tls: {} });
  });

  test("with user and password gives basic authentication", async () => {
    const { kubeconfig } = kubeconfigFolder();
    const credentials = await loadCredentials({ kubeconfig: kubeconfig({ username: "u", password: "p" }) });
    expect(await credentials.headers()).toEqual({ Authorization: `Basic ${base64("u:p")}` });
  });

  test("provides certificates, embedded or in files, and how to verify the server", async () => {
    const { kubeconfig, write } = kubeconfigFolder();
    const { cert, key } = createCertificateAuthority().issue(["client"]);
    const ca = createCertificateAuthority().cert;
    write("key.pem", key);
    write("ca.pem", ca);
    const user = { "client-certificate-data": base64(cert), "client-key": "key.pem" };
    const cluster = {
      server: "https://rancher.example.com/k8s/clusters/c-1/",
      "certificate-authority": "ca.pem",
      "tls-server-name": "kubernetes",
    };
    const credentials = await loadCredentials({ kubeconfig: kubeconfig(user, cluster) });
    expect(credentials).toMatchObject({
      origin: "https://rancher.example.com",
      pathPrefix: "/k8s/clusters/c-1",
    });
    expect(credentials.tls).toEqual({ ca, cert, key, servername: "kubernetes" });
    expect(await credentials.headers()).toEqual({});
  });

  test("may switch verification off, and only then it is off", async () => {
    const { kubeconfig } = kubeconfigFolder();
    const careless = kubeconfig({}, { "insecure-skip-tls-verify": true });
    expect((await loadCredentials({ kubeconfig: careless })).tls).toEqual({ rejectUnauthorized: false });
  });

  test("may name a server without TLS", async () => {
    const { kubeconfig } = kubeconfigFolder();
    const plain = kubeconfig({ token: "t" }, { server: "http://localhost:8001" });
    expect((await loadCredentials({ kubeconfig: plain })).origin).toBe("http://localhost:8001");
  });

  test("may impersonate a user with groups, UID and extra fields", async () => {
    const { kubeconfig } = kubeconfigFolder();
    const user = {
      token: "t1",
      as: "jane",
      "as-uid": "7",
      "as-groups": ["a", "b"],
      "as-user-extra": { "example.com/Reason": ["x", "y"] },
    };
    expect(await (await loadCredentials({ kubeconfig: kubeconfig(user) })).headers()).toEqual({
      ...bearer("t1"),
      "Impersonate-User": "jane",
      "Impersonate-Uid": "7",
      "Impersonate-Group": ["a", "b"],
      "Impersonate-Extra-example.com%2FReason": ["x", "y"],
    });
  });

  test("sets the proxy, regardless of the environment", async () => {
    const { kubeconfig } = kubeconfigFolder();
    vi.stubEnv("HTTPS_PROXY", "http://other:1");
    vi.stubEnv("NO_PROXY", "*");
    onTestFinished(() => void vi.unstubAllEnvs());
    const config = kubeconfig({}, { "proxy-url": "https://me:p%40ss@proxy:3128" });
    expect((await loadCredentials({ kubeconfig: config })).proxy).toEqual({
      host: "proxy",
      port: 3128,
      isSecure: true,
      authorization: `Basic ${base64("me:p@ss")}`,
    });
  });

  test("without a proxy uses the one of the environment", async () => {
    const { kubeconfig } = kubeconfigFolder();
    vi.stubEnv("HTTPS_PROXY", "http://proxy:3128");
    vi.stubEnv("NO_PROXY", "");
    onTestFinished(() => void vi.unstubAllEnvs());
    const { proxy } = await loadCredentials({ kubeconfig: kubeconfig({}) });
    expect(proxy).toMatchObject({ host: "proxy", port: 3128, isSecure: false });
  });

  test("that now names another server is not used by a refresh, so that no server sees another's token", async () => {
    const { kubeconfig } = kubeconfigFolder();
    const credentials = await loadCredentials({ kubeconfig: kubeconfig({ token: "t1" }) });
    kubeconfig({ token: "t2" }, { server: "https://other.example.com" });
    await expect(credentials.refresh()).rejects.toThrow("restart");
    expect(await credentials.headers()).toEqual(bearer("t1"));
  });
});

describe("a token file", () => {
  test("may end with a newline, and wins over the token beside it", async () => {
    const { kubeconfig, write } = kubeconfigFolder();
    write("token", "t1\n");
    const config = kubeconfig({ token: "old", tokenFile: "token" });
    expect(await (await loadCredentials({ kubeconfig: config })).headers()).toEqual(bearer("t1"));
  });

  test("that was rotated is read by a refresh at once", async () => {
    const { kubeconfig, write } = kubeconfigFolder();
    const config = kubeconfig({ tokenFile: write("token", "t1") });
    const credentials = await loadCredentials({ kubeconfig: config });
    write("token", "t2");
    expect(await credentials.headers()).toEqual(bearer("t1"));
    await credentials.refresh();
    expect(await credentials.headers()).toEqual(bearer("t2"));
  });

  test("that was rotated is read without a refresh within ten seconds", async () => {
    const clock = new VirtualClock();
    const { kubeconfig, write } = kubeconfigFolder();
    const config = kubeconfig({ tokenFile: write("token", "t1") });
    const credentials = await loadCredentials({ kubeconfig: config }, clock);
    write("token", "t2");
    await clock.advance(10_000);
    expect(await credentials.headers()).toEqual(bearer("t1"));
    await clock.advance(1);
    expect(await credentials.headers()).toEqual(bearer("t2"));
  });

  test("that cannot be read for a while leaves what was known, and fails only a refresh", async () => {
    const clock = new VirtualClock();
    const { kubeconfig, write } = kubeconfigFolder();
    const token = write("token", "t1");
    const credentials = await loadCredentials({ kubeconfig: kubeconfig({ tokenFile: token }) }, clock);
    rmSync(token);
    await clock.advance(10_001);
    expect(await credentials.headers()).toEqual(bearer("t1"));
    await expect(credentials.refresh()).rejects.toThrow(`${token} can't be read: ENOENT`);
    write("token", "t2");
    await credentials.refresh();
    expect(await credentials.headers()).toEqual(bearer("t2"));
  });
});

describe("an exec plugin", () => {
  /** Counts its calls in a file and returns the count as its token. */
  function counting(status: object = {}) {
    const { kubeconfig, write } = kubeconfigFolder();
    const count = write("count", "");
    const answer = execAnswer({ token: "tN", ...status }).replace("N", "'$n'");
    const script = `printf x >> ${count}; n=$(($(wc -c < ${count}))); printf '%s' '${answer}'`;
    return { kubeconfig: kubeconfig(execUser(script)), calls: () => readFileSync(count, "utf8").length };
  }

  test("is run for a token, and rerun by a refresh, once for concurrent callers", async () => {
    const { kubeconfig, calls } = counting();
    const credentials = await loadCredentials({ kubeconfig });
    expect(await credentials.headers()).toEqual(bearer("t1"));
    await Promise.all([credentials.refresh(), credentials.refresh()]);
    expect(await credentials.headers()).toEqual(bearer("t2"));
    expect(calls()).toBe(2);
  });

  test("without an expiry is not requested again without a refresh", async () => {
    const clock = new VirtualClock();
    const { kubeconfig, calls } = counting();
    const credentials = await loadCredentials({ kubeconfig }, clock);
    await clock.advance(7 * 24 * 3_600_000);
    expect(await credentials.headers()).toEqual(bearer("t1"));
    expect(calls()).toBe(1);
  });

  test("is rerun when its credential has expired, and not before", async () => {
    const clock = new VirtualClock();
    const expirationTimestamp = new Date(clock.now() + 60_000).toISOString();
    const { kubeconfig, calls } = counting({ expirationTimestamp });
    const credentials = await loadCredentials({ kubeconfig }, clock);
    await clock.advance(59_999);
    expect(await credentials.headers()).toEqual(bearer("t1"));
    await clock.advance(1);
    const both = await Promise.all([credentials.headers(), credentials.headers()]);
    expect(both).toEqual([bearer("t2"), bearer("t2")]);
    expect(calls()).toBe(2);
  });

  test("may give a client certificate", async () => {
    const { kubeconfig } = kubeconfigFolder();
    const { cert, key } = createCertificateAuthority().issue(["client"]);
    const script = `cat <<'END'\n${execAnswer({ clientCertificateData: cert, clientKeyData: key })}\nEND`;
    const credentials = await loadCredentials({ kubeconfig: kubeconfig(execUser(script)) });
    expect(credentials.tls).toEqual({ cert, key });
    expect(await credentials.headers()).toEqual({});
  });

  test("that fails once its answer has expired fails the request in its own words", async () => {
    const clock = new VirtualClock();
    const { kubeconfig, write } = kubeconfigFolder();
    const expirationTimestamp = new Date(clock.now() + 1_000).toISOString();
    const answer = write("answer", execAnswer({ token: "t1", expirationTimestamp }));
    const config = kubeconfig(execUser(`cat ${answer} || { echo please log in >&2; exit 3; }`));
    const credentials = await loadCredentials({ kubeconfig: config }, clock);
    rmSync(answer);
    await clock.advance(1_000);
    await expect(credentials.headers()).rejects.toThrow(/exited with code 3: .*please log in/s);
  });
});

describe("client certificates in files", () => {
  function pairs() {
    const folder = kubeconfigFolder();
    const authority = createCertificateAuthority();
    const [first, second] = [authority.issue(["first"]), authority.issue(["second"])];
    folder.write("cert.pem", first.cert);
    folder.write("key.pem", first.key);
    const kubeconfig = folder.kubeconfig({ "client-certificate": "cert.pem", "client-key": "key.pem" });
    return { ...folder, kubeconfig, first, second };
  }

  test("are the same value until they change", async () => {
    const { kubeconfig, write, second } = pairs();
    const credentials = await loadCredentials({ kubeconfig });
    const before = credentials.tls;
    await credentials.refresh();
    expect(credentials.tls).toBe(before);
    write("cert.pem", second.cert);
    write("key.pem", second.key);
    await credentials.refresh();
    expect(credentials.tls).toEqual(second);
  });

  test("are followed without a refresh, but never in the middle of a rotation", async () => {
    const clock = new VirtualClock();
    const { kubeconfig, write, first, second } = pairs();
    const credentials = await loadCredentials({ kubeconfig }, clock);
    write("cert.pem", second.cert);
    await clock.advance(10_001);
    await credentials.headers();
    expect(credentials.tls).toEqual(first);
    write("key.pem", second.key);
    await clock.advance(10_001);
    await credentials.headers();
    expect(credentials.tls).toEqual(second);
  });

  test("that do not belong together are refused by the names of their fields", async () => {
    const { kubeconfig, write, second } = pairs();
    write("key.pem", second.key);
    await expect(loadCredentials({ kubeconfig })).rejects.toThrow(
      /client-certificate and client-key of user "u" in .*: the key does not belong to the certificate/,
    );
  });
});

describe("inside a cluster", () => {
  function serviceAccount(env: object) {
    const { dir, write } = kubeconfigFolder();
    write("token", "t1");
    write("ca.crt", "CA");
    return { write, environment: { env: { ...env }, home: dir, serviceAccount: dir } };
  }
  const service = { KUBERNETES_SERVICE_HOST: "10.96.0.1", KUBERNETES_SERVICE_PORT: "443" };

  test("the service account's token and CA are used, and followed as they are rotated", async () => {
    const clock = new VirtualClock();
    const { write, environment } = serviceAccount(service);
    const credentials = await loadCredentials({}, clock, environment);
    expect(credentials).toMatchObject({ origin: "https://10.96.0.1", tls: { ca: "CA" } });
    expect(await credentials.headers()).toEqual(bearer("t1"));
    write("token", "t2");
    write("ca.crt", "CA and next CA");
    await clock.advance(10_001);
    expect(await credentials.headers()).toEqual(bearer("t2"));
    expect(credentials.tls).toEqual({ ca: "CA and next CA" });
  });

  test("an IPv6 address of the service becomes a URL", async () => {
    const { environment } = serviceAccount({ ...service, KUBERNETES_SERVICE_HOST: "fd00::1" });
    const credentials = await loadCredentials({}, undefined, environment);
    expect(credentials.origin).toBe("https://[fd00::1]");
  });

  test("the proxy of the environment is used unless NO_PROXY lists the service", async () => {
    const proxied = serviceAccount({ ...service, HTTPS_PROXY: "proxy:3128" });
    expect((await loadCredentials({}, undefined, proxied.environment)).proxy?.host).toBe("proxy");
    const straight = serviceAccount({ ...service, HTTPS_PROXY: "proxy:3128", NO_PROXY: "10.96.0.0/12" });
    expect((await loadCredentials({}, undefined, straight.environment)).proxy).toBeUndefined();
  });

  test("KUBECONFIG wins over the service account, and a home directory does not", async () => {
    const { write, environment } = serviceAccount(service);
    write(".kube/config", "no kubeconfig");
    expect((await loadCredentials({}, undefined, environment)).origin).toBe("https://10.96.0.1");
    const { kubeconfig } = kubeconfigFolder();
    const env = { ...environment.env, KUBECONFIG: kubeconfig({ token: "from-env" }) };
    const credentials = await loadCredentials({}, undefined, { ...environment, env });
    expect(await credentials.headers()).toEqual(bearer("from-env"));
  });
});
