import { ConfigMap, Deployment, Secret } from "kube-controller-runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ControlPlaneSpec } from "../../../src/api/v1alpha1/control-plane.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { openStage, type Stage } from "./stage.ts";

const theirs = "https://coder.example.com";

let stage: Stage;
beforeAll(async () => {
  stage = await openStage(sharedCluster(), "access-url");
});
afterAll(() => stage[Symbol.asyncDispose]());

const ours = (name: string) => `http://${name}.${stage.namespace}.svc.cluster.local`;

/** The values that the pods' own environment gives CODER_ACCESS_URL: one, or none. */
async function accessURLs(name: string): Promise<(string | undefined)[]> {
  const { spec } = await stage.get(Deployment, name);
  const env = spec?.template.spec?.containers[0]?.env ?? [];
  return env.filter((variable) => variable.name === "CODER_ACCESS_URL").map(({ value }) => value);
}

function untilAccessURLs(name: string, expected: string[]): Promise<void> {
  return stage.eventually(async () => expect(await accessURLs(name)).toEqual(expected));
}

async function settledWith(name: string, spec: ControlPlaneSpec): Promise<void> {
  await stage.create(name, spec);
  await stage.settled(name);
}

describe("CODER_ACCESS_URL", () => {
  test("is the URL of the Service, without a port that the scheme implies", async () => {
    await settledWith("plain", {});
    expect(await accessURLs("plain")).toEqual([ours("plain")]);
    await settledWith("odd-port", { service: { port: 8000 } });
    expect(await accessURLs("odd-port")).toEqual([`${ours("odd-port")}:8000`]);
    await settledWith("secure", { tls: { secretNames: ["web"] } });
    expect(await accessURLs("secure")).toEqual([ours("secure").replace("http:", "https:")]);
  });

  test("is the user's where extraEnv has it, once", async () => {
    await settledWith("extra", { extraEnv: [{ name: "CODER_ACCESS_URL", value: theirs }] });
    expect(await accessURLs("extra")).toEqual([theirs]);
  });

  test("follows a Secret of envFrom that contains it", async () => {
    await settledWith("secret", { envFrom: [{ secretRef: { name: "coder-env", optional: true } }] });
    await untilAccessURLs("secret", [ours("secret")]);
    await stage.person.create(Secret, { metadata: stage.ref("coder-env"), stringData: { COLOR: "blue" } });
    const added = { stringData: { CODER_ACCESS_URL: theirs } };
    await stage.person.mergePatch(Secret, stage.ref("coder-env"), added);
    await untilAccessURLs("secret", []);
    await stage.person.delete(Secret, stage.ref("coder-env"));
    await untilAccessURLs("secret", [ours("secret")]);
  });

  test("is left to a ConfigMap of envFrom, whose prefix counts", async () => {
    const data = { ACCESS_URL: theirs };
    await stage.person.create(ConfigMap, { metadata: stage.ref("coder-config"), data });
    const configMapRef = { name: "coder-config" };
    await settledWith("prefixed", { envFrom: [{ prefix: "CODER_", configMapRef }] });
    expect(await accessURLs("prefixed")).toEqual([]);
    await settledWith("unprefixed", { envFrom: [{ configMapRef }] });
    expect(await accessURLs("unprefixed")).toEqual([ours("unprefixed")]);
  });
});

test("values of a Secret of envFrom appear in no child, event, status or log", async () => {
  const secret = "marked-value-4711";
  const stringData = {
    CODER_ACCESS_URL: theirs,
    CODER_PG_CONNECTION_URL: `postgres://coder:${secret}@db/coder`,
  };
  await stage.person.create(Secret, { metadata: stage.ref("coder-secret"), stringData });
  await settledWith("silent", { envFrom: [{ secretRef: { name: "coder-secret" } }] });
  const kinds = "codercontrolplanes,deployments,services,serviceaccounts,events";
  const { stdout } = await stage.cluster.kubectl(["get", kinds, "-n", stage.namespace, "-o", "yaml"]);
  expect(stdout).toContain("coder-secret");
  expect(stdout).not.toContain(secret);
  expect(JSON.stringify(stage.operator.log)).not.toContain(secret);
});
