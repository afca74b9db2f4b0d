import { afterAll, beforeAll, expect, test } from "vitest";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { Secret } from "../../../src/runtime/kinds.ts";
import { controllerReference } from "../../../src/runtime/owner.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { openProxyStage, type ProxyStage } from "../workspace-proxy/stage.ts";

let stage: ProxyStage;
beforeAll(async () => {
  stage = await openProxyStage(sharedCluster(), "tokens");
});
afterAll(() => stage?.[Symbol.asyncDispose]());

test.for([
  ["as it is", { "app.kubernetes.io/managed-by": "coder-k8s" }],
  ["without its label", {}],
] as const)(
  "a token that the operator made, %s, is not sent where a proxy's bootstrap says",
  async ([how, labels]) => {
    const name = `victim-${how.length}`;
    const [evil, { credentials }] = [
      await stage.coderd(`evil-${how.length}`),
      await stage.controlPlane(name),
    ];
    const owner = await stage.get(CoderControlPlane, name);
    await stage.person.mergePatch(Secret, stage.ref(credentials), {
      metadata: { labels, ownerReferences: [controllerReference(owner, CoderControlPlane)] },
    });
    const bootstrap = { coderURL: evil.url, credentialsSecretRef: { name: credentials } };
    await stage.create(`thief-${how.length}`, { bootstrap });
    const { message } = await stage.untilCondition(`thief-${how.length}`, "CredentialsReady", {
      status: "False",
      reason: "SecretNotAllowed",
    });
    expect(message).toContain(`Secret "${credentials}"`);
    expect(evil.deployment.calls).toEqual([]);
  },
);

test("a user and a password in the URL of a bootstrap are refused at admission", async () => {
  const bootstrap = { coderURL: "https://me:hunter2@coder.example.com", credentialsSecretRef: { name: "x" } };
  const creation = stage.create("shown", { bootstrap });
  await expect(creation).rejects.toThrow("must not hold a user name or a password");
  await expect(creation).rejects.not.toThrow("hunter2");
});
