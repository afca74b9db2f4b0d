import { Deployment } from "kube-controller-runtime";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { openStage, type Stage } from "../control-plane/stage.ts";

const CHANGES = 25;

let stage: Stage;
beforeAll(async () => {
  stage = await openStage(sharedCluster(), "quiet");
});
afterAll(() => stage?.[Symbol.asyncDispose]());

/** Requests other than watches and events, as the operator and as the API server counted them. */
async function requests() {
  const sent = stage.operator.transport.requests.filter(({ path }) => !/watch=true|\/events\b/.test(path));
  const received = (await stage.cluster.auditRequests()).filter(
    ({ user, namespace, verb, resource }) =>
      user === stage.cluster.operator.user &&
      namespace === stage.namespace &&
      verb !== "watch" &&
      resource !== "events",
  );
  return { sent: sent.length, received: received.length };
}

test(`${CHANGES} runs that find nothing to do make no request`, async () => {
  await stage.create("coder");
  await stage.settled("coder");
  await stage.touch("coder", "its own writes are seen");
  const before = await requests();
  expect(before.sent).toBeGreaterThan(0);
  expect(before.received).toBeGreaterThan(0);
  for (let change = 0; change < CHANGES; change++) {
    const metadata = { annotations: { "example.com/n": `${change}` } };
    await stage.whenSeen(() => stage.person.mergePatch(Deployment, stage.ref("coder"), { metadata }));
  }
  expect(await requests()).toEqual(before);
});
