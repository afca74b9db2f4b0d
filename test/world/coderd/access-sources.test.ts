import { ConfigMap, findCondition, Secret } from "kube-controller-runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ControlPlaneSpec } from "../../../src/api/v1alpha1/control-plane.ts";
import { type CoderdStage, openCoderdStage, urlVariable } from "./stage.ts";

let stage: CoderdStage;
beforeAll(async () => {
  stage = await openCoderdStage();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const VARIABLE = "CODER_PG_CONNECTION_URL";

describe("the connection URL is found", () => {
  const configMap = (name: string, data: Record<string, string>) =>
    stage.person.create(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata: stage.ref(name), data });
  const fromKey = (source: object) => [{ name: VARIABLE, valueFrom: source }];

  /** The objects that each needs besides the control plane, and its spec. `url` is the database's. */
  const sources: Record<string, (name: string, url: string) => Promise<ControlPlaneSpec>> = {
    "written in extraEnv": async (_, url) => ({ extraEnv: [urlVariable(url)] }),
    "in a key of a Secret": async (name, url) => {
      await stage.putSecret(name, { anything: `${url}\n` });
      return { extraEnv: fromKey({ secretKeyRef: { name, key: "anything" } }) };
    },
    "in a key of a ConfigMap": async (name, url) => {
      await configMap(name, { anything: url });
      return { extraEnv: fromKey({ configMapKeyRef: { name, key: "anything" } }) };
    },
    "in a Secret of envFrom": async (name, url) => {
      await stage.putSecret(name, { [VARIABLE]: url });
      return { envFrom: [{ secretRef: { name } }] };
    },
    "in a Secret of envFrom with a prefix": async (name, url) => {
      await stage.putSecret(name, { PG_CONNECTION_URL: url });
      return { envFrom: [{ prefix: "CODER_", secretRef: { name } }] };
    },
    "in a ConfigMap of envFrom with a prefix": async (name, url) => {
      await configMap(name, { CONNECTION_URL: url });
      return { envFrom: [{ prefix: "CODER_PG_", configMapRef: { name } }] };
    },
    "in the last of several sources of envFrom": async (name, url) => {
      await configMap(name, { [VARIABLE]: url.replace(/:\d+\//, ":1/") });
      await stage.putSecret(name, { [VARIABLE]: url });
      return { envFrom: [{ configMapRef: { name } }, { secretRef: { name } }] };
    },
    "with a password from another Secret in it": async (name, url) => {
      const { password } = new URL(url);
      await stage.putSecret(name, { "db-password": password });
      return {
        extraEnv: [
          { name: "PASSWORD", valueFrom: { secretKeyRef: { name, key: "db-password" } } },
          urlVariable(url.replace(password, "$(PASSWORD)")),
        ],
      };
    },
  };

  test.each(Object.entries(sources))("%s", async (what, specOf) => {
    const name = `url-${Object.keys(sources).indexOf(what)}`;
    const { database } = await stage.coderd(name);
    await stage.create(name, { ...(await specOf(name, database.url)), operatorAccess: {} });
    await stage.untilServing(name);
    await stage.untilReady(name);
    expect(await database.users()).toMatchObject([{ username: "coder-k8s-operator", isSystem: true }]);
    await stage.untilStatus(name, { licenseTier: "none" });
  });
});

test("a rotated password is picked up with the next change of its Secret", async () => {
  const { database } = await stage.coderd("rotated");
  const urlWith = (password: string) => database.url.replace(/\/\/.*@/, `//rotating:${password}@`);
  stage.databases.logins.set("rotating", "first-password");
  await stage.putSecret("rotated-db", { url: urlWith("first-password") });
  const secretKeyRef = { name: "rotated-db", key: "url" };
  const extraEnv = [{ name: VARIABLE, valueFrom: { secretKeyRef } }];
  await stage.create("rotated", { extraEnv, operatorAccess: {} });
  await stage.untilServing("rotated");
  await stage.untilReady("rotated");

  stage.databases.logins.set("rotating", "second-password");
  await stage.eventually(async () => {
    // Again and again: a run that was under way may put back the token, which is still good.
    await stage.person.delete(Secret, stage.ref("rotated-operator-token"));
    const { status } = await stage.controlPlane("rotated");
    const condition = findCondition(status?.conditions, "OperatorAccessReady");
    expect(condition).toMatchObject({ reason: "DatabaseAuthenticationFailed" });
  });
  await stage.putSecret("rotated-db", { url: urlWith("second-password") });
  await stage.untilReady("rotated");
  expect(await database.keys()).toHaveLength(1);
});

test("while nothing is wrong with the token, the database's Secret may come and go", async () => {
  const { database } = await stage.coderd("detached");
  await stage.putSecret("detached-db", { [VARIABLE]: database.url });
  await stage.create("detached", { envFrom: [{ secretRef: { name: "detached-db" } }], operatorAccess: {} });
  await stage.untilServing("detached");
  await stage.untilReady("detached");
  const { connections } = stage.databases;
  await stage.person.delete(Secret, stage.ref("detached-db"));
  await stage.touch("detached", "the Secret is gone");
  await stage.untilReady("detached");
  expect(stage.databases.connections).toBe(connections);
});
