import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { mint } from "../../lab/mint.ts";
import { CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy } from "../../src/api/v1alpha1/kinds.ts";
import { everyCoder } from "./support/binaries.ts";
import { Tenant } from "./support/tenant.ts";
import { World } from "./support/world.ts";

const binaries = await everyCoder();
const MINUTE = 60_000;
/** In ten minutes, of all that ask: two control planes, two provisioners and two proxies. */
const MAX_REQUESTS = 60;
/** How each coderd is asked whether it reaches its database, in each of these minutes once. */
const PROBE = "/api/v2/users/me";
const MAX_PROBES = 2 * 11;

const DAEMONS = { name: "linux", type: "ExternalProvisionersEntitled" };
const PROXY = { name: "sydney", type: "Registered" };
const NOT_ENTITLED = { status: "False", reason: "NotEntitled" } as const;

describe.skipIf(!binaries)("a coderd that has no license", () => {
  let world: World;
  const owned = new AsyncDisposableStack();

  beforeAll(async () => {
    if (!binaries) return;
    world = owned.use(await World.open(binaries));
    await world.startOperator();
  });
  beforeEach(({ onTestFailed }) => onTestFailed(() => console.error(world.story())));
  afterAll(() => owned.disposeAsync());

  /** How often coderds are asked, apart from probes, while ten minutes of the operator's time pass, one at a time. */
  async function questionsInTenMinutes(): Promise<number> {
    const before = world.gateway.exchanges.length;
    for (let minute = 0; minute < 10; minute++) await world.timePasses(MINUTE);
    const asked = world.gateway.exchanges.slice(before);
    const probes = asked.filter(({ path }) => path === PROBE).length;
    expect(probes).toBeLessThanOrEqual(MAX_PROBES);
    return asked.length - probes;
  }

  test("because none is given: everything that needs one reports that, and continues when there is one", async () => {
    const tenant = await Tenant.move(world, "unlicensed", { licenseSecretRef: { name: "license" } });
    await tenant.provision("linux");
    await tenant.proxy("sydney");
    const admin = owned.use(await tenant.signUp());
    const license = { type: "LicenseApplied" };
    await tenant.untilControlPlane({
      operatorAccessReady: true,
      licenseTier: "none",
      externalProvisionerDaemonsEntitlement: "not_entitled",
    });
    await tenant.untilCondition(CoderControlPlane, license, { status: "False", reason: "SecretMissing" });
    await tenant.untilCondition(CoderProvisioner, DAEMONS, NOT_ENTITLED);
    await tenant.untilCondition(CoderWorkspaceProxy, PROXY, NOT_ENTITLED);
    expect(await questionsInTenMinutes()).toBeLessThan(MAX_REQUESTS);
    expect(world.gateway.exchanges.map(({ method }) => method)).not.toContain("POST");

    const [expired, trial] = await mint(world.binaries, "expired", "trial");
    await tenant.putSecret("license", { license: expired });
    await tenant.untilCondition(CoderControlPlane, license, { status: "False", reason: "InvalidLicense" });
    await tenant.putSecret("license", { license: trial });
    await tenant.untilControlPlane({ licenseTier: "trial" });
    await tenant.untilDaemonsServe("linux", admin);
    await tenant.untilCondition(CoderWorkspaceProxy, PROXY, { status: "True" });
  });

  test("because it is the open-source build: what it does not support is reported, and all else works", async () => {
    const tenant = await Tenant.move(world, "open-source", {
      coder: (binaries ?? expect.fail())["coder-oss"],
      licenseSecretRef: { name: "license" },
    });
    const [license] = await mint(world.binaries, "premium");
    await tenant.putSecret("license", { license });
    await tenant.provision("linux");
    await tenant.proxy("sydney");
    await tenant.untilControlPlane({
      phase: "Ready",
      operatorAccessReady: true,
      licenseTier: "unknown",
      version: "v2.36.1",
    });
    const notSupported = { status: "False", reason: "NotSupported" } as const;
    await tenant.untilCondition(CoderControlPlane, { type: "LicenseApplied" }, notSupported);
    await tenant.untilCondition(CoderProvisioner, DAEMONS, {
      status: "False",
      reason: "EntitlementsQueryFailed",
    });
    await tenant.untilCondition(CoderWorkspaceProxy, PROXY, notSupported);
    expect(await questionsInTenMinutes()).toBeLessThan(MAX_REQUESTS);
  });
});
