import { createHash } from "node:crypto";
import { Secret } from "kube-controller-runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fakeLicense } from "../../../lab/coderd/licenses.ts";
import { acceptedAs } from "../../../lab/coderd-database/database.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { type Coderd, type CoderdStage, openCoderdStage } from "./stage.ts";

/*
 * A control plane and its coderd on real parts: the API server, under the operator's own role, Postgres by `pg`, and
 * sockets to coderd. Everything else that is done with a coderd is tried in `test/world/coderd`.
 */

const OPERATOR = "coder-k8s-operator (owner)";
let stage: CoderdStage;
let coderd: Coderd;
beforeAll(async () => {
  stage = await openCoderdStage(sharedCluster(), "coderd-life");
  coderd = await stage.coderd("coder");
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const accepted = async () =>
  acceptedAs(coderd.database, await stage.token("coder-operator-token"), stage.clock.now());

describe("a control plane with a database and a license", () => {
  test("has a token that coderd accepts, its license applied and its entitlements published", async () => {
    const license = fakeLicense({ now: stage.clock.now() });
    await stage.putSecret("license", { license });
    await stage.serve("coder", coderd, { licenseSecretRef: { name: "license" } });
    await stage.untilReady("coder");
    await stage.untilStatus("coder", {
      operatorAccessReady: true,
      operatorTokenSecretRef: { name: "coder-operator-token", key: "token" },
      licenseLastAppliedHash: createHash("sha256").update(license).digest("hex"),
      licenseTier: "premium",
      externalProvisionerDaemonsEntitlement: "entitled",
    });
    expect(await accepted()).toBe(OPERATOR);
    expect(await coderd.database.keys()).toHaveLength(1);
    expect(coderd.deployment.licenses).toHaveLength(1);
  });

  test("opens and keeps no connection to the database in steady state", async () => {
    const { connections } = stage.databases;
    for (let run = 0; run < 5; run++) await stage.touch("coder", String(run));
    expect(stage.databases.connections).toBe(connections);
    const held = await coderd.database.query(
      "SELECT 1 FROM pg_stat_activity WHERE application_name = 'coder-k8s' AND datname = current_database()",
    );
    expect(held).toEqual([]);
  });

  test("gets another token within ten minutes after its token is revoked", async () => {
    const before = await stage.token("coder-operator-token");
    await coderd.database.suffer("keys deleted");
    await stage.timePasses(10 * 60_000);
    await stage.eventually(async () => {
      expect(await stage.token("coder-operator-token")).not.toBe(before);
      expect(await accepted()).toBe(OPERATOR);
      expect(await coderd.database.keys()).toHaveLength(1);
    });
  });

  test("says why while its database refuses the password, and recovers by the next change of its Secret", async () => {
    const other = await stage.coderd("refused");
    const url = other.database.url.replace(/:[^:@]+@/, ":wrong-password@");
    await stage.putSecret("refused-db", { url });
    const secretKeyRef = { name: "refused-db", key: "url" };
    await stage.create("refused", {
      operatorAccess: {},
      extraEnv: [{ name: "CODER_PG_CONNECTION_URL", valueFrom: { secretKeyRef } }],
    });
    const reason = "DatabaseAuthenticationFailed";
    await stage.untilCondition("refused", "OperatorAccessReady", { status: "False", reason });
    await stage.putSecret("refused-db", { url: other.database.url });
    await stage.untilReady("refused");
  });

  test("loses its token in the database and its Secret when operator access is disabled", async () => {
    await stage.change("coder", { operatorAccess: { disabled: true } });
    await stage.untilCondition("coder", "OperatorAccessReady", { status: "False", reason: "Disabled" });
    expect(await coderd.database.keys()).toEqual([]);
    expect(await stage.exists(Secret, "coder-operator-token")).toBe(false);
  });
});
