import { CoreEvent, Deployment } from "kube-controller-runtime";
import { createCertificateAuthority, offline } from "kube-controller-runtime/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ControlPlaneStage, openControlPlaneStage } from "./stage.ts";

const ca = createCertificateAuthority();
const SEEN = "coder.com/restart-seen";

let stage: ControlPlaneStage;
beforeEach(async () => {
  stage = await openControlPlaneStage("restart");
});
afterEach(() => stage[Symbol.asyncDispose]());

/** What cert-manager writes: for the same name each time, with another serial number. */
function renew(): Promise<unknown> {
  const { cert, key } = ca.issue([`coder.${stage.namespace}.svc.cluster.local`]);
  return stage.putSecret("web", { "tls.crt": cert, "tls.key": key });
}

/** Counts the pod templates that there have been: only those replace pods. */
async function generation(): Promise<number | undefined> {
  return (await stage.get(Deployment, "coder")).metadata.generation;
}

/** The messages of events about it. */
async function restarts(): Promise<(string | undefined)[]> {
  const { items } = await stage.person.list(CoreEvent, { namespace: stage.namespace });
  return items.filter(({ reason }) => reason === "Restarting").map(({ message }) => message);
}

async function seen(): Promise<string | undefined> {
  return (await stage.get(Deployment, "coder")).metadata.annotations?.[SEEN];
}

/** Waits until the operator has seen what is there now. */
async function untilSeen(before: string | undefined): Promise<void> {
  await stage.eventually(async () => {
    const now = await seen();
    expect(now).toBeDefined();
    expect(now).not.toBe(before);
  });
  await stage.untilIdle();
}

const tls = { tls: { secretNames: ["web"] } };

describe("a renewed certificate", () => {
  test("replaces the pods of coderd once, with an event that says why", async () => {
    await renew();
    await stage.serve("coder", tls);
    const [first, before] = [await generation(), await seen()];
    await renew();
    await untilSeen(before);
    expect(await generation()).toBe((first ?? 0) + 1);
    expect(await restarts()).toEqual([
      'Restarting the pods of Deployment "coder" because a certificate that they use changed; see spec.restartOn.',
    ]);
    await stage.timePasses(10 * 60_000);
    expect(await generation()).toBe((first ?? 0) + 1);
  });

  test("has its event although the answer to the change of the Deployment is lost", async () => {
    await renew();
    await stage.serve("coder", tls);
    const before = await seen();
    const changes = ({ method, path }: { method: string; path: string }) =>
      method === "PATCH" && path.includes("/deployments/coder?");
    let lost = 0;
    stage.operator.transport.fault = async (request, pass) => {
      const answer = await pass();
      // A request whose connection breaks is sent once more.
      return changes(request) && lost++ < 2 ? offline(request, pass) : answer;
    };
    await renew();
    await untilSeen(before);
    await stage.eventually(async () => expect(await restarts()).toHaveLength(1));
  });

  test("replaces them also when no operator ran as it came", async () => {
    await renew();
    await stage.serve("coder", tls);
    const [first, before] = [await generation(), await seen()];
    await stage.operator.stop();
    await renew();
    await stage.startOperator();
    await untilSeen(before);
    expect(await generation()).toBe((first ?? 0) + 1);
  });

  test("leaves them alone where the spec says None", async () => {
    await renew();
    await stage.serve("coder", { ...tls, restartOn: "None" });
    const first = await generation();
    await renew();
    await stage.change("coder", { annotations: { "example.com/seen": "yes" } });
    await stage.eventually(async () =>
      expect((await stage.get(Deployment, "coder")).metadata.annotations).toMatchObject({
        "example.com/seen": "yes",
      }),
    );
    expect(await generation()).toBe(first);
  });
});

test("an upgraded operator replaces no pod of an existing Deployment, and the next renewal does", async () => {
  await renew();
  await stage.serve("coder", tls);
  const first = await generation();
  await stage.operator.stop();
  // As the version before left it: without the memory, and with the hash of what that version applied.
  await stage.person.mergePatch(Deployment, stage.ref("coder"), {
    metadata: { annotations: { [SEEN]: null, "coder.com/applied-hash": "of-the-version-before" } },
  });
  await stage.startOperator();
  await untilSeen(undefined);
  expect(await generation()).toBe(first);
  const before = await seen();
  await renew();
  await untilSeen(before);
  expect(await generation()).toBe((first ?? 0) + 1);
});

test("another password of the database replaces the pods where the spec says All, and otherwise does not", async () => {
  const extraEnv = [
    { name: "CODER_PG_CONNECTION_URL", valueFrom: { secretKeyRef: { name: "db", key: "url" } } },
  ];
  await stage.putSecret("db", { url: "postgres://coder:one@db/coder" });
  await stage.serve("coder", { extraEnv });
  const first = await generation();
  await stage.putSecret("db", { url: "postgres://coder:two@db/coder" });
  await stage.untilIdle();
  expect(await seen()).toBeUndefined();
  await stage.change("coder", { restartOn: "All" });
  await untilSeen(undefined);
  expect(await generation()).toBe(first);
  const before = await seen();
  await stage.putSecret("db", { url: "postgres://coder:three@db/coder" });
  await untilSeen(before);
  expect(await generation()).toBe((first ?? 0) + 1);
});
