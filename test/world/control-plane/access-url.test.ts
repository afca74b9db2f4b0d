import { Deployment } from "kube-controller-runtime";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ControlPlaneStage, openControlPlaneStage } from "./stage.ts";

let stage: ControlPlaneStage;
beforeEach(async () => {
  stage = await openControlPlaneStage("access-url");
});
afterEach(() => stage[Symbol.asyncDispose]());

const database = { name: "CODER_PG_CONNECTION_URL", value: "postgres://coder@db/coder" };
const accessURL = (value: string) => ({ name: "CODER_ACCESS_URL", value });
const ingress = { host: "coder.example.com", tls: { secretName: "web" } };

async function conditionTypes(): Promise<string[]> {
  return ((await stage.status("coder")).conditions ?? []).map(({ type }) => type);
}

async function givenURL(): Promise<string | undefined> {
  const { spec } = await stage.get(Deployment, "coder");
  return spec?.template.spec?.containers[0]?.env?.find(({ name }) => name === "CODER_ACCESS_URL")?.value;
}

test("an environment that sends users elsewhere than the exposure is warned of, until they agree", async () => {
  const extraEnv = [database, accessURL("https://admin:secret@old.example.com/path")];
  await stage.serve("coder", { extraEnv, expose: { ingress } });
  const { message } = await stage.untilCondition("coder", "AccessURLExposed", {
    status: "False",
    reason: "HostDiffers",
  });
  expect(message).toBe(
    'CODER_ACCESS_URL sends users to host "old.example.com", but spec.expose serves host "coder.example.com"; correct one of them, or remove CODER_ACCESS_URL and set spec.expose.setAccessURL.',
  );
  await stage.untilCondition("coder", "Ready", { status: "True" });
  await stage.change("coder", { extraEnv: [database, accessURL("https://Coder.Example.com")] });
  await stage.eventually(async () => expect(await conditionTypes()).not.toContain("AccessURLExposed"));
});

test("the exposure decides on the access URL only where the spec says so", async () => {
  await stage.serve("coder", { expose: { ingress } });
  expect(await givenURL()).toBe(`http://coder.${stage.namespace}.svc.cluster.local`);
  await stage.change("coder", { expose: { ingress, setAccessURL: true } });
  await stage.eventually(async () => expect(await givenURL()).toBe("https://coder.example.com"));
  expect(await conditionTypes()).not.toContain("AccessURLExposed");
});

test("in a cluster with another domain coderd is found there, and reports it", async () => {
  await stage.operator.stop();
  await stage.startOperator({ clusterDomain: "k8s.corp" });
  await stage.create("coder", { extraEnv: [database] });
  const url = `http://coder.${stage.namespace}.svc.k8s.corp`;
  await stage.untilStatus("coder", { url: `${url}:80` });
  expect(await givenURL()).toBe(url);
});
