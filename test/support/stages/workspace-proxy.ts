import { randomBytes } from "node:crypto";
import { Deployment, findCondition } from "kube-controller-runtime";
import { expect } from "vitest";
import { StaticAccounts } from "../../../lab/coderd/accounts.ts";
import type { CoderdDeployment, DeploymentOptions } from "../../../lab/coderd/deployment.ts";
import { fakeLicense } from "../../../lab/coderd/licenses.ts";
import { CoderControlPlane, CoderWorkspaceProxy } from "../../../src/api/v1alpha1/kinds.ts";
import type { WorkspaceProxySpec, WorkspaceProxyStatus } from "../../../src/api/v1alpha1/workspace-proxy.ts";
import type { World } from "../world/world.ts";
import { Stage } from "./stage.ts";

/** A coderd with a license, and an owner's token for it in a Secret. */
export interface Coderd {
  readonly url: string;
  readonly deployment: CoderdDeployment;
  readonly accounts: StaticAccounts;
  readonly owner: string;
  /** The Secret with the owner's token. */
  readonly credentials: string;
}

/** Where workspace proxies are tried, with any number of coderds and the whole operator. */
export class ProxyStage extends Stage<CoderWorkspaceProxy> {
  /** Use `openProxyStage`. */
  constructor(world: World, namespace: string) {
    super({ world, namespace, kind: CoderWorkspaceProxy });
  }

  /** A coderd of its own for one test, outside the cluster unless a control plane stands for it. */
  async coderd(name: string, options: DeploymentOptions = {}, host = `${name}.example.com`): Promise<Coderd> {
    const accounts = new StaticAccounts();
    const owner = `${randomBytes(5).toString("hex")}-${randomBytes(11).toString("hex")}`;
    accounts.add(owner, { owner: true });
    const now = () => this.clock.now();
    const deployment = this.world.coderds.add({ accounts, now, ...options }, { host });
    deployment.addLicense(fakeLicense({ now: now() }));
    const credentials = `${name}-owner`;
    await this.putToken(credentials, owner);
    return { url: `http://${host}`, deployment, accounts, owner, credentials };
  }

  untilRegistered(name: string): Promise<WorkspaceProxyStatus> {
    return this.eventually(async () => {
      const { metadata, status } = await this.get(CoderWorkspaceProxy, name);
      expect(status).toMatchObject({ registered: true, observedGeneration: metadata.generation });
      expect(findCondition(status?.conditions, "Registered")).toMatchObject({ status: "True" });
      return status ?? {};
    });
  }

  async putToken(secret: string, token: string): Promise<void> {
    await this.putSecret(secret, { token });
  }

  /** What a Secret holds; empty when there is no such Secret. */
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

  /** A control plane `name` that is ready, with a coderd behind its Service. */
  async controlPlane(name: string, spec: object = {}): Promise<Coderd> {
    const host = `${name}.${this.namespace}.svc.cluster.local`;
    const coderd = await this.coderd(name, {}, host);
    await this.person.create(CoderControlPlane, {
      apiVersion: CoderControlPlane.apiVersion,
      kind: CoderControlPlane.kind,
      metadata: this.ref(name),
      spec: { operatorAccess: { tokenSecretRef: { name: coderd.credentials } }, ...spec },
    });
    await this.markReady(name);
    return { ...coderd, url: `${coderd.url}:80` };
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
