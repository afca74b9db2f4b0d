import { Deployment } from "kube-controller-runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { StaticAccounts } from "../../../lab/coderd/accounts.ts";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import type { Fault } from "../../../lab/coderd/faults.ts";
import { CoderControlPlane, CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import { openStage, type ProvisionerStage } from "../../support/stages/provisioner.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

let stage: ProvisionerStage;
let coderd: CoderdDeployment;
beforeAll(async () => {
  stage = await openStage(new MemoryWorld(), "access");
  coderd = await stage.controlPlane();
});
afterAll(() => stage[Symbol.asyncDispose]());

const conditionsOf = async (name: string) =>
  (await stage.get(CoderProvisioner, name)).status?.conditions?.map(({ type }) => type);

describe("the control plane", () => {
  test("that is missing is named, and its coming is noticed at once", async () => {
    await stage.create("early", { controlPlaneRef: { name: "later" } });
    const { message } = await stage.untilCondition("early", "ControlPlaneReady", { reason: "NotFound" });
    expect(message).toContain('"later"');
    await stage.controlPlane("later");
    await stage.untilCondition("early", "ProvisionerKeyReady", { status: "True" });
  });

  test("without a URL is waited for", async () => {
    await stage.controlPlane("silent", { status: { url: undefined as never, observedGeneration: 1 } });
    await stage.create("waiting", { controlPlaneRef: { name: "silent" } });
    await stage.untilCondition("waiting", "ControlPlaneReady", { status: "False", reason: "Pending" });
    await stage.publish("silent", { url: stage.urlOf("silent") });
    await stage.untilCondition("waiting", "ControlPlaneReady", { status: "True" });
  });

  test("that is deleted does not affect the daemons", async () => {
    await stage.controlPlane("leaving");
    await stage.serve("orphan", { controlPlaneRef: { name: "leaving" } });
    const before = await stage.get(Deployment, "provisioner-orphan");
    await stage.person.delete(CoderControlPlane, stage.ref("leaving"));
    await stage.untilCondition("orphan", "ControlPlaneReady", { status: "False", reason: "NotFound" });
    await stage.untilIdle();
    const after = await stage.get(Deployment, "provisioner-orphan");
    expect(after.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
    expect((await stage.get(CoderProvisioner, "orphan")).status?.phase).toBe("Ready");
  });

  test("whose image changes updates its daemons, unless they have their own image", async () => {
    await stage.controlPlane("upgraded");
    await stage.serve("follows", { controlPlaneRef: { name: "upgraded" } });
    await stage.serve("stays", { controlPlaneRef: { name: "upgraded" }, image: "own:1" });
    const image = async (name: string) => (await stage.template(name)).spec?.containers[0]?.image;
    await stage.person.mergePatch(CoderControlPlane, stage.ref("upgraded"), { spec: { image: "coder:2" } });
    await stage.eventually(async () => expect(await image("follows")).toBe("coder:2"));
    expect(await image("stays")).toBe("own:1");
  });
});

describe("credentials", () => {
  test("of the control plane that are not ready say why, in the control plane's words", async () => {
    const why = {
      type: "OperatorAccessReady",
      status: "False",
      reason: "NotMigrated",
      message: "A table is missing.",
    };
    await stage.controlPlane("closed", {
      status: {
        operatorAccessReady: false,
        conditions: [{ ...why, lastTransitionTime: "2026-01-01T00:00:00Z" }],
      },
    });
    await stage.create("locked-out", { controlPlaneRef: { name: "closed" } });
    const { message } = await stage.untilCondition("locked-out", "OperatorAccessReady", { status: "False" });
    expect(message).toContain("A table is missing.");
    await stage.publish("closed", { operatorAccessReady: true });
    await stage.untilCondition("locked-out", "ProvisionerKeyReady", { status: "True" });
  });

  test("of the user are used instead, and have their own condition", async () => {
    await stage.controlPlane("without", { status: { operatorAccessReady: false } });
    const credentialsSecretRef = { name: "my-session", key: "session" };
    await stage.create("self-made", {
      controlPlaneRef: { name: "without" },
      bootstrap: { credentialsSecretRef },
    });
    const { message } = await stage.untilCondition("self-made", "BootstrapSecretReady", {
      status: "False",
      reason: "SecretMissing",
    });
    expect(message).toContain('"my-session"');
    await stage.putSecret("my-session", { session: "operator-token-of-the-tests" });
    await stage.untilCondition("self-made", "ProvisionerKeyReady", { status: "True" });
    expect(await conditionsOf("self-made")).not.toContain("OperatorAccessReady");
  });

  test("of the user's own that end within two weeks are reported", async () => {
    const token = "endingsoon-0123456789abcdefghijkl";
    const accounts = new StaticAccounts();
    const endsAt = stage.clock.now() + 10 * 24 * 60 * 60_000;
    accounts.add(token, { owner: true, expiresAt: endsAt });
    await stage.controlPlane("strict", { accounts });
    await stage.putSecret("ending-session", { token });
    await stage.create("ending", {
      controlPlaneRef: { name: "strict" },
      bootstrap: { credentialsSecretRef: { name: "ending-session" } },
    });
    const day = new Date(endsAt).toISOString().slice(0, 10);
    const reason = "TokenExpiresSoon";
    const { message } = await stage.untilCondition("ending", "BootstrapSecretReady", {
      status: "True",
      reason,
    });
    expect(message).toContain(`"ending-session" expires on ${day}`);
    const { status } = await stage.get(CoderProvisioner, "ending");
    expect(status?.bootstrapTokenExpires).toContain(day);
  });

  test("that are exchanged for others cause no rotation", async () => {
    await stage.putSecret("spare", { token: "operator-token-of-the-tests" });
    const before = await stage.serve("switcher");
    await stage.change("switcher", { bootstrap: { credentialsSecretRef: { name: "spare" } } });
    await stage.eventually(async () => {
      const { status } = await stage.get(CoderProvisioner, "switcher");
      expect(status?.credentialsSecretRef).toEqual({ name: "spare", key: "token" });
      expect(status?.provisionerKeyID).toBe(before.provisionerKeyID);
    });
    await stage.untilCondition("switcher", "OperatorAccessReady", { status: "Unknown", reason: "NotUsed" });
  });

  test("that coderd refuses for keys are distinguished from a license that does not include them", async () => {
    coderd.faults.inject({ fault: { kind: "answer", status: 401 }, on: /provisionerkeys/, times: 1 });
    await stage.create("refused");
    await stage.untilCondition("refused", "ProvisionerKeyReady", { status: "False", reason: "Forbidden" });
    const unlicensed = await stage.controlPlane("stale", { licensed: false });
    await stage.publish("stale", { externalProvisionerDaemonsEntitlement: "entitled" });
    await stage.create("unlicensed", { controlPlaneRef: { name: "stale" } });
    await stage.untilCondition("unlicensed", "ProvisionerKeyReady", {
      status: "False",
      reason: "NotEntitled",
    });
    expect(unlicensed.keys).toEqual([]);
  });

  test("an organization that does not exist is named", async () => {
    await stage.create("lost", { organizationName: "nowhere" });
    const { message } = await stage.untilCondition("lost", "ProvisionerKeyReady", {
      status: "False",
      reason: "OrganizationNotFound",
    });
    expect(message).toContain('"nowhere"');
  });
});

describe("a coderd that fails is reported in a condition and asked again with backoff", () => {
  const faults: readonly [string, Fault, string][] = [
    ["is cut off", { kind: "cut" }, "CoderdUnreachable"],
    ["answers HTML", { kind: "html" }, "CoderdUnreachable"],
    ["answers half a JSON", { kind: "truncatedJson" }, "CoderdUnreachable"],
    ["redirects in circles", { kind: "redirectLoop" }, "CoderdUnreachable"],
    ["returns an error", { kind: "answer", status: 503 }, "CoderdUnreachable"],
    ["limits requests", { kind: "rateLimited", retryAfter: "20" }, "RateLimited"],
  ];
  test.each(faults)("%s", async (what, fault, reason) => {
    const name = what.replaceAll(" ", "-").toLowerCase();
    const flaky = await stage.controlPlane(name);
    flaky.faults.inject({ fault });
    await stage.create(name, { controlPlaneRef: { name } });
    await stage.untilCondition(name, "ProvisionerKeyReady", { status: "False", reason });
    await stage.untilIdle();
    const calls = flaky.calls.length;
    await stage.touch(name, "look again");
    await stage.untilIdle();
    expect(flaky.calls.length).toBe(calls);
    flaky.faults.clear();
    await stage.timePasses(31_000);
    await stage.untilCondition(name, "ProvisionerKeyReady", { status: "True" });
    const warnings = (await stage.events(name)).filter(({ type }) => type === "Warning");
    expect(warnings.map((event) => event.reason)).toEqual([reason]);
  });

  test("a routine look that fails changes nothing", async () => {
    const quiet = await stage.controlPlane("quiet");
    await stage.serve("undisturbed", { controlPlaneRef: { name: "quiet" } });
    const { metadata } = await stage.get(CoderProvisioner, "undisturbed");
    const end = quiet.faults.inject({ fault: { kind: "cut" }, on: /provisionerkeys/ });
    const calls = () => quiet.count(/provisionerkeys/);
    const before = calls();
    await stage.publish("quiet", {
      entitlementsLastChecked: new Date(stage.clock.now() + 110_000).toISOString(),
    });
    await stage.timePasses(120_000);
    await stage.eventually(() => expect(calls()).toBeGreaterThan(before));
    await stage.untilIdle();
    expect((await stage.get(CoderProvisioner, "undisturbed")).metadata.resourceVersion).toBe(
      metadata.resourceVersion,
    );
    end();
  });
});
