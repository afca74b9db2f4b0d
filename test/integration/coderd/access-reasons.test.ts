import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sharedCluster } from "../../support/cluster/shared.ts";
import type { Database } from "../../support/postgres.ts";
import { type CoderdStage, openCoderdStage } from "./stage.ts";

let stage: CoderdStage;
beforeAll(async () => {
  stage = await openCoderdStage(sharedCluster(), "access");
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const TYPE = "OperatorAccessReady";

/** A control plane that takes its database's URL from a Secret of its own. */
async function createWithUrl(name: string, url: string): Promise<void> {
  await stage.putSecret(`${name}-db`, { url });
  const secretKeyRef = { name: `${name}-db`, key: "url" };
  await stage.create(name, {
    extraEnv: [{ name: "CODER_PG_CONNECTION_URL", valueFrom: { secretKeyRef } }],
    operatorAccess: {},
  });
  await stage.untilServing(name);
}

describe("a wrong connection URL has its own reason, and is used as soon as the Secret is corrected", () => {
  const wrong: { reason: string; says: string; url: (database: Database) => string }[] = [
    {
      reason: "InvalidConnectionURL",
      says: "must start with postgres://",
      url: ({ url }) => url.replace("postgres:", "mysql:"),
    },
    {
      reason: "DatabaseUnreachable",
      says: "refuses the connection",
      url: ({ url }) => url.replace(/:\d+\//, ":1/"),
    },
    {
      reason: "DatabaseAuthenticationFailed",
      says: "refuses the user or the password",
      url: ({ url }) => url.replace(/:[^:@]+@/, ":wrong-password@"),
    },
    {
      reason: "DatabaseMissing",
      says: "does not exist",
      url: ({ url }) => url.replace(/\/[^/]+$/, "/nowhere"),
    },
    {
      reason: "DatabaseTLSFailed",
      says: "does not offer TLS",
      url: ({ url }) => `${url}?sslmode=require`,
    },
  ];

  test.each(wrong)("$reason", async ({ reason, says, url }) => {
    const name = reason.toLowerCase();
    const { database } = await stage.coderd(name);
    await createWithUrl(name, url(database));
    const { message } = await stage.untilCondition(name, TYPE, { status: "False", reason });
    expect(message).toContain(says);
    const { status } = await stage.controlPlane(name);
    expect(status).toMatchObject({ operatorAccessReady: false });
    expect(status?.operatorTokenSecretRef).toBeUndefined();
    await stage.putSecret(`${name}-db`, { url: database.url });
    await stage.untilReady(name);
    await stage.untilStatus(name, {
      operatorAccessReady: true,
      operatorTokenSecretRef: { name: `${name}-operator-token`, key: "token" },
    });
    const events = (await stage.events(name)).map((event) => [event.type, event.reason]);
    expect(events).toEqual(
      expect.arrayContaining([
        ["Warning", reason],
        ["Normal", "TokenIssued"],
        ["Normal", "TokenReady"],
      ]),
    );
  });
});
