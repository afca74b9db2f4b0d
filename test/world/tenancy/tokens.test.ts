import { controllerReference, Secret } from "kube-controller-runtime";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { openProxyStage, type ProxyStage } from "../../support/stages/workspace-proxy.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

let stage: ProxyStage;
beforeAll(async () => {
  stage = await openProxyStage(new MemoryWorld(), "tokens");
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
