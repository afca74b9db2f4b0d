import { expect, test } from "vitest";
import { base64, execUser, kubeconfigFolder } from "../../../test/support/kubeconfig-folder.ts";
import { createCertificateAuthority } from "../../../testing/certificates.ts";
import { loadCredentials } from "../credentials.ts";

const secret = "s3cr3t-value";
const pem = createCertificateAuthority().issue(["client"]);
const pair = { "client-certificate-data": base64(pem.cert), "client-key-data": base64(pem.key) };

const users: readonly [field: string, user: object, because: string][] = [
  ["token", { token: 5 }, "must be a string"],
  ["token", { token: `${secret}\n${secret}` }, "has characters that are not allowed in a token"],
  ["tokenFile", { tokenFile: "missing" }, "can't be read: ENOENT"],
  ["tokenFile", { tokenFile: "empty" }, "is empty"],
  ["tokenFile", { tokenFile: "huge" }, "is larger than 1 MiB"],
  ["token or tokenFile and username", { token: secret, username: "u" }, "set only one"],
  ["token or tokenFile and exec", { token: secret, ...execUser("true") }, "set only one"],
  ["password", { password: secret }, "is set without username"],
  ["auth-provider", { "auth-provider": { name: "gcp", config: { token: secret } } }, "use exec"],
  ["as-groups", { "as-groups": ["a"] }, "is set without as"],
  ["as-uid", { "as-uid": "1" }, "is set without as"],
  ["as-user-extra", { "as-user-extra": { a: ["b"] } }, "is set without as"],
  ["as-groups", { as: "a", "as-groups": "b" }, "must be a list of strings"],
  ["as-user-extra", { as: "a", "as-user-extra": ["b"] }, "must be a map"],
  ["as-groups", { as: "a", "as-groups": ["b\nImpersonate-User: admin"] }, "Impersonate-Group"],
  [
    "client-certificate-data",
    { "client-certificate-data": pair["client-certificate-data"] },
    "without client-key",
  ],
  ["client-key-data", { "client-key-data": pair["client-key-data"] }, "without client-certificate"],
  ["client-certificate", { ...pair, "client-certificate": "c.pem" }, "are both set"],
  ["client-key-data", { ...pair, "client-key-data": base64(secret) }, "is not PEM in base64"],
  [
    "client-key",
    { ...pair, "client-key-data": "", "client-key": "empty" },
    "not a certificate and an unencrypted key",
  ],
  ["client-key", { ...pair, "client-key-data": "", "client-key": "missing" }, "can't be read: ENOENT"],
  ["exec", { exec: secret }, "must be a map"],
  ["apiVersion", execUser("", { apiVersion: "client.authentication.k8s.io/v1alpha1" }), "v1 or client"],
  ["command", execUser("", { command: "" }), "is missing"],
  ["args", execUser("", { args: [1] }), "must be a list of strings"],
  ["env", execUser("", { env: { A: secret } }), "must be a list"],
  ["interactiveMode", execUser("", { interactiveMode: "Always" }), "has no terminal"],
  ["interactiveMode", execUser("", { interactiveMode: "Sometimes" }), "must be Never, IfAvailable or Always"],
];

const clusters: readonly [field: string, cluster: object, because: string][] = [
  ["server", { server: "" }, "is missing"],
  ["server", { server: "api.example.com:6443" }, "must be a URL that starts with https:// or http://"],
  ["server", { server: `https://me:${secret}@api` }, "must not contain credentials or a query"],
  ["certificate-authority", { "certificate-authority": "missing" }, "can't be read: ENOENT"],
  ["certificate-authority-data", { "certificate-authority-data": base64("CA") }, "is not PEM in base64"],
  ["insecure-skip-tls-verify", { "insecure-skip-tls-verify": "yes" }, "must be true or false"],
  [
    "insecure-skip-tls-verify",
    { "insecure-skip-tls-verify": true, "certificate-authority": "ca.pem" },
    "together with certificate-authority",
  ],
  ["tls-server-name", { "tls-server-name": 1 }, "must be a string"],
  ["proxy-url", { "proxy-url": `socks5://me:${secret}@proxy` }, "must start with http:// or https://"],
  ["proxy-url", { "proxy-url": `http://me:${secret}%zz@proxy` }, "invalid user or password"],
  ["proxy-url", { "proxy-url": `${secret} ` }, "is not a URL"],
];

/** Why a kubeconfig is rejected, and its path. */
async function refusal(user: object, cluster: object): Promise<{ error: unknown; path: string }> {
  const { kubeconfig, write } = kubeconfigFolder();
  write("empty", "\n");
  write("huge", secret.repeat(100_000));
  const path = kubeconfig(user, cluster);
  const loading = loadCredentials({ kubeconfig: path });
  return {
    path,
    error: await loading.then(
      () => undefined,
      (reason: unknown) => reason,
    ),
  };
}

const cases = [
  ...users.map(([field, user, because]) => ({ field, user, cluster: {}, because, owner: 'user "u"' })),
  ...clusters.map(([field, cluster, because]) => ({
    field,
    user: {},
    cluster,
    because,
    owner: 'cluster "c"',
  })),
];

test.each(cases)(
  "$field of $owner is refused by name: $because",
  async ({ field, user, cluster, because, owner }) => {
    const { error, path } = await refusal(user, cluster);
    expect(error).toMatchObject({ name: "KubeconfigError", message: expect.stringContaining(because) });
    const { message, cause } = error as Error;
    expect(message).toContain(field);
    expect(message).toContain(`${owner} in ${path}`);
    expect(message).not.toContain(secret);
    expect(cause).toBeUndefined();
  },
);
