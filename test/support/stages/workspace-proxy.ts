import { Deployment, findCondition } from "kube-controller-runtime";
import { expect } from "vitest";
import { CoderWorkspaceProxy } from "../../../src/api/v1alpha1/kinds.ts";
import type { WorkspaceProxySpec, WorkspaceProxyStatus } from "../../../src/api/v1alpha1/workspace-proxy.ts";
import type { World } from "../world/world.ts";
import { type Coderd, ServedStage } from "./served.ts";

export type { Coderd };

/** Where workspace proxies are tried, with any number of coderds and the whole operator. */
export class ProxyStage extends ServedStage<CoderWorkspaceProxy> {
  /** Use `openProxyStage`. */
  constructor(world: World, namespace: string) {
    super({ world, namespace, kind: CoderWorkspaceProxy });
  }

  untilRegistered(name: string): Promise<WorkspaceProxyStatus> {
    return this.eventually(async () => {
      const { metadata, status } = await this.get(CoderWorkspaceProxy, name);
      expect(status).toMatchObject({ registered: true, observedGeneration: metadata.generation });
      expect(findCondition(status?.conditions, "Registered")).toMatchObject({ status: "True" });
      return status ?? {};
    });
  }

  /** The content of a Secret; empty if it does not exist. */
  async token(secretName: string): Promise<string> {
    return (await this.secretValue(secretName, "token")) ?? "";
  }

  /** Waits until the Secret holds a token that coderd lets the proxy in with, and returns it. */
  untilTokenWorks(coderd: Coderd, secretName: string): Promise<string> {
    return this.eventually(async () => {
      const token = await this.token(secretName);
      expect(coderd.deployment.acceptedProxy(token), "the proxy that is let in").toBeDefined();
      this.secrets.add(token);
      return token;
    });
  }

  container(name: string) {
    return this.eventually(async () => {
      const { spec } = await this.get(Deployment, `wsproxy-${name}`);
      const [container] = spec?.template.spec?.containers ?? [];
      if (!container) throw new Error("the pods have no container");
      return { ...container, annotations: spec?.template.metadata?.annotations };
    });
  }

  /** The message of the only event of this reason. */
  untilEvent(name: string, reason: string): Promise<string> {
    return this.eventually(async () => {
      const events = (await this.events(name)).filter((event) => event.reason === reason);
      expect(events.length, `events ${reason} of ${name}`).toBe(1);
      return events[0]?.message ?? "";
    });
  }
}

export async function openProxyStage(world: World, prefix: string): Promise<ProxyStage> {
  const stage = new ProxyStage(world, await world.createNamespace(prefix));
  await stage.startOperator();
  return stage;
}

/** The part of a spec that registers a proxy at a coderd by URL. */
export function bootstrap(coderd: Coderd, more: object = {}): WorkspaceProxySpec {
  return {
    bootstrap: { coderURL: coderd.url, credentialsSecretRef: { name: coderd.credentials }, ...more },
  };
}
