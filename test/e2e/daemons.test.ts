import { createCertificateAuthority, eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { mint } from "../../lab/mint.ts";
import { CoderProvisioner } from "../../src/api/v1alpha1/kinds.ts";
import type { CoderdAdmin } from "./support/coderd-admin.ts";
import { Tenant } from "./support/tenant.ts";
import { TIME_LIMIT, World } from "./support/world.ts";

const binaries = inject("coder");
const MINUTES = 60_000;
const SECRET = "linux-provisioner-key";
/** As long as a key of coderd's, and none that it knows. */
const DEAD = "d".repeat(43);
/** Processes here see the machine's own files, so they have to be led to what a pod would find by itself. */
const TRUST = {
  certs: { secrets: [{ name: "coder-tls", key: "ca.crt" }] },
  extraEnv: [{ name: "SSL_CERT_FILE", value: "/etc/ssl/certs/coder-tls.crt" }],
};

describe.skipIf(!binaries)("real daemons of a coderd with a private CA", () => {
  let world: World;
  let tenant: Tenant;
  let admin: CoderdAdmin;
  const owned = new AsyncDisposableStack();

  beforeAll(async () => {
    if (!binaries) return;
    world = owned.use(await World.open(binaries));
    await world.startOperator();
    const tls = { secretNames: ["coder-tls"] };
    tenant = await Tenant.move(world, "daemons", { licenseSecretRef: { name: "license" }, tls });
    const ca = createCertificateAuthority();
    const { cert, key } = ca.issue([`coder.${tenant.namespace}.svc.cluster.local`, "127.0.0.1"]);
    await tenant.putSecret("coder-tls", { "tls.crt": cert, "tls.key": key, "ca.crt": ca.cert });
    const [license] = await mint(binaries, "premium");
    await tenant.putSecret("license", { license });
    admin = owned.use(await tenant.signUp());
    await tenant.provision("linux", { tags: { a: "1" } });
  });
  beforeEach(({ onTestFailed }) => onTestFailed(() => console.error(world.story())));
  afterAll(() => owned.disposeAsync());

  const condition = (type: string, state: object) =>
    tenant.untilCondition(CoderProvisioner, { name: "linux", type }, state);
  const keyIDs = async () => (await admin.keys()).map(({ id }) => id);
  /** PollState at the status until that says so, because coderd limits how often it can be asked. */
  const untilDeleted = async (keyID = "") => {
    await eventually(async () => {
      const { status } = await tenant.get(CoderProvisioner, "linux");
      expect(status?.provisionerKeyID).not.toBe(keyID);
      expect(status).not.toHaveProperty("retiredKeys");
    }, TIME_LIMIT);
    expect(await keyIDs()).not.toContain(keyID);
  };

  test("that do not trust its certificate are stalled, and the missing CA is named until it is given", async () => {
    const { message } = await condition("DaemonsConnected", { status: "False", reason: "Stalled" });
    expect(message).toContain('coderd serves the certificate in Secret "coder-tls"');
    expect(message).toContain("spec.certs.secrets is empty");
    // The daemon's own error has the key in a URL.
    expect(message).not.toContain(await tenant.secretValue(SECRET, "key"));
    await condition("Ready", { status: "False", reason: "Stalled" });
    await condition("Stalled", { status: "True" });
    await tenant.change(CoderProvisioner, "linux", TRUST);
    await tenant.untilDaemonsServe("linux", admin);
    await condition("DaemonsConnected", { status: "True", reason: "Connected" });
  });

  test("get a new key when their Secret is restored with a dead one", async () => {
    const [before] = await keyIDs();
    await tenant.putSecret(SECRET, { key: DEAD });
    await untilDeleted(before);
    await tenant.untilDaemonsServe("linux", admin);
    expect(await tenant.secretValue(SECRET, "key")).not.toBe(DEAD);
  });

  test("that can't connect with a new key never lose the old one, and status says why", async () => {
    const [before] = await keyIDs();
    const elsewhere = { name: "CODER_URL", value: "https://127.0.0.1:1" };
    const extraEnv = [...TRUST.extraEnv, elsewhere];
    await tenant.change(CoderProvisioner, "linux", { tags: { a: "2" }, extraEnv });
    const { message } = await condition("DaemonsConnected", { status: "False", reason: "Stalled" });
    expect(message).toContain("spec.extraEnv sets CODER_URL");
    await world.timePasses(10 * MINUTES);
    const rotating = await condition("ProvisionerKeyReady", { status: "True", reason: "Rotating" });
    expect(rotating.message).toMatch(
      /will be deleted when (all pods use|the daemons are connected with) the new key/,
    );
    expect(await keyIDs()).toContain(before);
    await tenant.change(CoderProvisioner, "linux", { extraEnv: TRUST.extraEnv });
    await tenant.untilDaemonsServe("linux", admin);
    await untilDeleted(before);
  });

  test("have left no key in a URL or a log", () => {
    expect(world.gateway.exchanges.some(({ path }) => path === "/api/v2/provisionerkeys/mine")).toBe(true);
    for (const { path } of world.gateway.exchanges) expect(world.secrets.foundIn(path)).toEqual([]);
    expect(world.leaks()).toEqual([]);
  });
});
