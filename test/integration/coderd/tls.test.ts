import { createCertificateAuthority } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { StaticAccounts } from "../../../lab/coderd/accounts.ts";
import { fakeLicense } from "../../../lab/coderd/licenses.ts";
import { type CoderdServer, startCoderdServer } from "../../../lab/coderd/server.ts";
import { type Postgres, startPostgres } from "../../../lab/postgres.ts";
import type { ControlPlaneSpec } from "../../../src/api/v1alpha1/control-plane.ts";
import { fixedAddress } from "../../../src/coder/http/route.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { type CoderdStage, openCoderdStage, urlVariable } from "./stage.ts";

const TOKEN = "overtlstok-0123456789abcdefghijkl";
const [authority, stranger] = [
  createCertificateAuthority("Coder CA"),
  createCertificateAuthority("Stranger"),
];
const names = ["chained", "trusting", "mistrusting", "own-token"];
const hostOf = (name: string) => `${name}.${stage.namespace}.svc.cluster.local`;

let stage: CoderdStage;
let postgres: Postgres;
let server: CoderdServer;
beforeAll(async () => {
  postgres = await startPostgres();
  stage = await openCoderdStage(sharedCluster(), "tls", { operator: false, postgres });
  server = await startCoderdServer({ tls: authority.issue(names.map(hostOf)) });
  await stage.startOperator({ coderdRoute: fixedAddress(server.url) });
  await stage.putSecret("token", { token: TOKEN });
});
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  await server?.close();
});

/** Serves TLS with a Secret of its own, whose certificates the operator may or may not be able to check. */
async function serve(name: string, certificates: Record<string, string>, spec: ControlPlaneSpec = {}) {
  const accounts = new StaticAccounts();
  accounts.add(TOKEN, { owner: true });
  const deployment = server.add({ accounts }, { host: hostOf(name) });
  await stage.putSecret(`${name}-tls`, certificates);
  await stage.create(name, {
    operatorAccess: { tokenSecretRef: { name: "token" } },
    tls: { secretNames: [`${name}-tls`] },
    ...spec,
  });
  await stage.untilServing(name);
  return deployment;
}

describe("a control plane that serves TLS is trusted by", () => {
  test("the CA in the Secret of its certificate", async () => {
    await serve("chained", { "tls.crt": "not-a-certificate", "ca.crt": authority.cert });
    await stage.untilReady("chained");
    await stage.untilStatus("chained", { licenseTier: "none", url: `https://${hostOf("chained")}:443` });
  });

  test("a CA in spec.certs", async () => {
    await stage.putSecret("our-ca", { "root.pem": authority.cert });
    const certs = { secrets: [{ name: "our-ca", key: "root.pem" }] };
    await serve("trusting", { "tls.crt": stranger.cert }, { certs });
    await stage.untilReady("trusting");
    await stage.untilStatus("trusting", { licenseTier: "none" });
  });
});

test("with a wrong CA the condition says so, and a right one in the Secret is used at once", async () => {
  await serve("mistrusting", { "tls.crt": stranger.cert });
  const { message } = await stage.untilCondition("mistrusting", "OperatorAccessReady", {
    status: "False",
    reason: "CoderdUnreachable",
  });
  expect(message).toMatch(/TLS failed: .*CA/);
  await stage.putSecret("mistrusting-tls", { "tls.crt": stranger.cert, "ca.crt": authority.cert });
  await stage.untilReady("mistrusting");
  await stage.untilStatus("mistrusting", { licenseTier: "none" });
});

test("a token from the database is still ready; license and entitlements report the wrong CA", async () => {
  const database = await stage.databases.create();
  await stage.putSecret("license", { license: fakeLicense() });
  await serve(
    "own-token",
    { "tls.crt": stranger.cert },
    { operatorAccess: {}, extraEnv: [urlVariable(database.url)], licenseSecretRef: { name: "license" } },
  );
  await stage.untilReady("own-token");
  const said = { status: "False", message: expect.stringMatching(/TLS failed: .*CA/) } as const;
  await stage.untilCondition("own-token", "LicenseApplied", { reason: "CoderdUnreachable", ...said });
  await stage.untilCondition("own-token", "EntitlementsKnown", {
    reason: "EntitlementsQueryFailed",
    ...said,
  });
});

describe("a database that serves TLS is checked with the certificates of coderd's pod", () => {
  const files = "/etc/ssl/certs";
  const certs = { secrets: [{ name: "db-ca", key: "ca.crt" }] };
  beforeAll(async () => {
    await postgres.enableTls(authority.issue(["127.0.0.1"]));
    await stage.putSecret("db-ca", { "ca.crt": authority.cert });
    await stage.putSecret("wrong-ca", { "ca.crt": stranger.cert });
  });

  test.each([
    { name: "by-file", parameters: `sslmode=verify-full&sslrootcert=${files}/db-ca.crt` },
    { name: "by-list", parameters: "sslmode=verify-full" },
  ])("with the file that the URL names, or with all of them: $name", async ({ name, parameters }) => {
    const { url } = await stage.databases.create();
    await stage.create(name, { operatorAccess: {}, certs, extraEnv: [urlVariable(`${url}?${parameters}`)] });
    await stage.untilReady(name);
  });

  test.each([
    { name: "other-ca", file: "wrong-ca.crt", says: "The TLS handshake with the database failed" },
    { name: "no-file", file: "absent.crt", says: "is not mounted in coderd's pods" },
  ])("and DatabaseTLSFailed is reported until the spec is right: $name", async ({ name, file, says }) => {
    const { url } = await stage.databases.create();
    const variable = (root: string) => urlVariable(`${url}?sslmode=verify-ca&sslrootcert=${files}/${root}`);
    const both = { secrets: [...certs.secrets, { name: "wrong-ca", key: "ca.crt" }] };
    await stage.create(name, { operatorAccess: {}, certs: both, extraEnv: [variable(file)] });
    const failed = { status: "False", reason: "DatabaseTLSFailed" } as const;
    expect((await stage.untilCondition(name, "OperatorAccessReady", failed)).message).toContain(says);
    await stage.change(name, { extraEnv: [variable("db-ca.crt")] });
    await stage.untilReady(name);
  });
});
