import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { httpTransport, loadCredentials, type Transport } from "kube-controller-runtime";
import { expect, onTestFinished, test } from "vitest";
import { sharedCluster } from "../../../test/support/cluster/shared.ts";
import { loadSettings } from "../src/client/kubeconfig/sources.ts";
import { readText } from "../src/client/response.ts";
import { startConnectProxy } from "./support/connect-proxy.ts";
import { base64, execAnswer, execUser, kubeconfigFolder } from "./support/kubeconfig-folder.ts";

const cluster = sharedCluster();
const reviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const review = JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" });

function folder() {
  const { write, kubeconfig } = kubeconfigFolder();
  const data = base64(readFileSync(cluster.caFile, "utf8"));
  const toCluster = { server: cluster.server, "certificate-authority-data": data };
  return { write, kubeconfig: (user: object, more = {}) => kubeconfig(user, { ...toCluster, ...more }) };
}

async function open(kubeconfig: string): Promise<Transport> {
  const transport = httpTransport(await loadCredentials({ kubeconfig }));
  onTestFinished(() => transport.close());
  return transport;
}

/** The client's identity at the API server; undefined if it is not authenticated. */
async function whoAmI(transport: Transport): Promise<object | undefined> {
  const headers = { "content-type": "application/json" };
  const { signal } = new AbortController();
  const request = { method: "POST", path: reviews, headers, body: review, signal } as const;
  const { status, body } = await transport.send(request);
  const answer = JSON.parse(await readText(body));
  return status === 201 ? answer.status.userInfo : undefined;
}

test("the API server knows the bearer of a token file", async () => {
  const { write, kubeconfig } = folder();
  const transport = await open(kubeconfig({ tokenFile: write("token", `${cluster.operator.token}\n`) }));
  const direct = await open(cluster.operator.kubeconfig);
  expect(await whoAmI(transport)).toEqual(await whoAmI(direct));
});

test("the API server accepts the token of a plugin, which is rerun when the token is rejected", async () => {
  const { write, kubeconfig } = folder();
  const answer = write("answer", execAnswer({ token: "of-yesterday" }));
  const transport = await open(kubeconfig(execUser(`cat ${answer}`)));
  expect(await whoAmI(transport)).toBeUndefined();
  writeFileSync(answer, execAnswer({ token: cluster.admin.token }));
  expect(await whoAmI(transport)).toEqual(await whoAmI(await open(cluster.admin.kubeconfig)));
});

test("several kubeconfigs are merged as kubectl merges them", async () => {
  const { dir, write } = kubeconfigFolder();
  const context = (name: string, user: string) => ({ name, context: { cluster: "c", user } });
  const files = [
    { clusters: [{ name: "c", cluster: { server: "https://first" } }], "current-context": "" },
    {
      clusters: [{ name: "c", cluster: { server: "https://second", "tls-server-name": "second" } }],
      users: [{ name: "u", user: { token: "of-second" } }],
      contexts: [context("b", "other")],
      "current-context": "a",
    },
    {
      users: [{ name: "u", user: { token: "of-third" } }],
      contexts: [context("a", "u")],
      "current-context": "b",
    },
  ];
  const paths = files.map((content, index) => write(`${index}/config`, JSON.stringify(content)));
  const KUBECONFIG = ["", join(dir, "missing"), ...paths].join(delimiter);
  const args = ["config", "view", "--minify", "--raw", "--output=json"];
  const { stdout } = await promisify(execFile)(cluster.connection.kubectlBinary, args, {
    env: { KUBECONFIG },
  });
  const expected = JSON.parse(stdout);
  const settings = await loadSettings({}, { env: { KUBECONFIG }, home: dir, serviceAccount: dir });
  expect(settings.cluster.server.origin).toBe(expected.clusters[0].cluster.server);
  expect(settings.cluster.serverName).toBe(expected.clusters[0].cluster["tls-server-name"]);
  expect(settings.user.token).toMatchObject({ text: expected.users[0].user.token });
});

test("requests and watches use a proxy, and impersonation is complete", async () => {
  await using proxy = await startConnectProxy();
  const { kubeconfig } = folder();
  const user = {
    token: cluster.admin.token,
    as: "jane",
    "as-uid": "42",
    "as-groups": ["system:masters", "dev"],
    "as-user-extra": { "example.com/reason": ["night", "shift"] },
  };
  const transport = await open(kubeconfig(user, { "proxy-url": `http://127.0.0.1:${proxy.port}` }));
  expect(await whoAmI(transport)).toMatchObject({
    username: "jane",
    uid: "42",
    groups: expect.arrayContaining(["system:masters", "dev"]),
    extra: { "example.com/reason": ["night", "shift"] },
  });
  const watch = "/api/v1/namespaces?watch=true&timeoutSeconds=1";
  const { signal } = new AbortController();
  const { status, body } = await transport.send({
    method: "GET",
    path: watch,
    headers: {},
    streaming: true,
    signal,
  });
  expect(status).toBe(200);
  expect(await readText(body)).toContain('"ADDED"');
  expect(proxy.asked).toEqual([new URL(cluster.server).host, new URL(cluster.server).host]);
});
