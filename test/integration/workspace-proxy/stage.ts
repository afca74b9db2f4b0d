import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import type { Condition } from "../../../src/api/v1alpha1/common.ts";
import { CoderControlPlane, CoderWorkspaceProxy } from "../../../src/api/v1alpha1/kinds.ts";
import type { WorkspaceProxySpec, WorkspaceProxyStatus } from "../../../src/api/v1alpha1/workspace-proxy.ts";
import { fixedAddress } from "../../../src/coder/http/route.ts";
import type { Client } from "../../../src/runtime/client/client.ts";
import { isNotFound } from "../../../src/runtime/client/error.ts";
import { findCondition } from "../../../src/runtime/conditions.ts";
import { CoreEvent, Deployment, Secret } from "../../../src/runtime/kinds.ts";
import type { Kind, KubeObject, Stored } from "../../../src/runtime/object.ts";
import { Activity } from "../../support/activity.ts";
import { adminClient } from "../../support/admin-client.ts";
import type { ClusterAccess } from "../../support/cluster/access.ts";
import { StaticAccounts } from "../../support/coderd/accounts.ts";
import type { CoderdDeployment, DeploymentOptions } from "../../support/coderd/deployment.ts";
import { fakeLicense } from "../../support/coderd/licenses.ts";
import { type CoderdServer, startCoderdServer } from "../../support/coderd/server.ts";
import { eventually } from "../../support/eventually.ts";
import { Secrets } from "../../support/leaks.ts";
import { type RunningOperator, startOperator } from "../../support/operator.ts";
import { SkewedClock } from "../../support/skewed-clock.ts";

/** Generous, because the machine may be busy. */
const PATIENCE = { withinMs: 20_000 };

/** A coderd with a licence, and an owner's token for it in a Secret. */
export interface Coderd {
  readonly url: string;
  readonly deployment: CoderdDeployment;
  readonly accounts: StaticAccounts;
  readonly owner: string;
  /** The Secret with the owner's token. */
  readonly credentials: string;
}

type Parts = Pick<ProxyStage, "cluster" | "namespace" | "person" | "server" | "operator" | "clock">;

/**
 * Where workspace proxies are tried: a namespace of the real API server, a server that plays any number of
 * coderds, and the operator, whose clock can be made to jump. When it closes, all that the operator said is
 * searched for secrets.
 */
export class ProxyStage implements AsyncDisposable {
  readonly cluster: ClusterAccess;
  readonly namespace: string;
  readonly person: Client;
  readonly server: CoderdServer;
  readonly clock: SkewedClock;
  readonly secrets = new Secrets();
  readonly #past: RunningOperator[] = [];
  #activity: Activity;
  operator: RunningOperator;

  /** Use `openProxyStage`. */
  constructor(parts: Parts, activity: Activity) {
    this.#activity = activity;
    this.cluster = parts.cluster;
    this.namespace = parts.namespace;
    this.person = parts.person;
    this.server = parts.server;
    this.clock = parts.clock;
    this.operator = parts.operator;
  }

  /** A coderd of its own for one test, outside the cluster unless a control plane stands for it. */
  async coderd(name: string, options: DeploymentOptions = {}, host = `${name}.example.com`): Promise<Coderd> {
    const accounts = new StaticAccounts();
    const owner = `${randomBytes(5).toString("hex")}-${randomBytes(11).toString("hex")}`;
    accounts.add(owner, { owner: true });
    const deployment = this.server.add({ accounts, now: () => this.clock.now(), ...options }, { host });
    deployment.addLicense(fakeLicense());
    const credentials = `${name}-owner`;
    await this.putSecret(credentials, owner);
    return { url: `http://${host}`, deployment, accounts, owner, credentials };
  }

  create(name: string, spec: WorkspaceProxySpec): Promise<Stored<CoderWorkspaceProxy>> {
    return this.person.create(CoderWorkspaceProxy, {
      apiVersion: CoderWorkspaceProxy.apiVersion,
      kind: CoderWorkspaceProxy.kind,
      metadata: this.ref(name),
      spec,
    });
  }

  /** Merges into the spec; `null` removes a field. */
  change(name: string, spec: object): Promise<Stored<CoderWorkspaceProxy>> {
    return this.person.mergePatch(CoderWorkspaceProxy, this.ref(name), { spec });
  }

  get<T extends KubeObject>(kind: Kind<T>, name: string): Promise<Stored<T>> {
    return this.person.get(kind, this.ref(name));
  }

  async status(name: string): Promise<WorkspaceProxyStatus> {
    return (await this.get(CoderWorkspaceProxy, name)).status ?? {};
  }

  untilStatus(name: string, expected: object): Promise<WorkspaceProxyStatus> {
    return eventually(async () => {
      const status = await this.status(name);
      expect(status).toMatchObject(expected);
      return status;
    }, PATIENCE);
  }

  untilCondition(name: string, type: string, expected: Partial<Condition>): Promise<Condition> {
    return eventually(async () => {
      const condition = findCondition((await this.status(name)).conditions, type);
      expect(condition).toMatchObject(expected);
      return condition as Condition;
    }, PATIENCE);
  }

  untilRegistered(name: string): Promise<WorkspaceProxyStatus> {
    return eventually(async () => {
      const { metadata, status } = await this.get(CoderWorkspaceProxy, name);
      expect(status).toMatchObject({ registered: true, observedGeneration: metadata.generation });
      expect(findCondition(status?.conditions, "Registered")).toMatchObject({ status: "True" });
      return status ?? {};
    }, PATIENCE);
  }

  /** Creates a Secret or replaces what it holds. */
  async putSecret(name: string, value: string, key = "token"): Promise<void> {
    this.secrets.add(value);
    const data = { [key]: Buffer.from(value, "utf8").toString("base64") };
    await this.person.apply(Secret, { apiVersion: "v1", kind: "Secret", metadata: this.ref(name), data });
  }

  /** What a Secret holds; empty when there is no such Secret. */
  async token(secretName: string): Promise<string> {
    try {
      const { data } = await this.get(Secret, secretName);
      return Buffer.from(data?.token ?? "", "base64").toString("utf8");
    } catch (error) {
      if (isNotFound(error)) return "";
      throw error;
    }
  }

  /** Waits until the Secret holds a token that coderd lets the proxy in with, and returns it. */
  untilTokenWorks(coderd: Coderd, secretName: string): Promise<string> {
    return eventually(async () => {
      const token = await this.token(secretName);
      expect(coderd.deployment.acceptedProxy(token), "the proxy that is let in").toBeDefined();
      this.secrets.add(token);
      return token;
    }, PATIENCE);
  }

  container(name: string) {
    return eventually(async () => {
      const { spec } = await this.get(Deployment, `wsproxy-${name}`);
      const [container] = spec?.template.spec?.containers ?? [];
      if (!container) throw new Error("the pods have no container");
      return { ...container, annotations: spec?.template.metadata?.annotations };
    }, PATIENCE);
  }

  /** Plays the pods of a proxy, or of a control plane. */
  async markReady(deployment: string): Promise<void> {
    await eventually(() => this.get(Deployment, deployment), PATIENCE);
    await this.cluster.markDeploymentReady(this.namespace, deployment);
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

  async delete(kind: Kind, name: string): Promise<void> {
    await this.person.delete(kind, this.ref(name));
  }

  untilGone(kind: Kind, name: string): Promise<void> {
    return eventually(async () => {
      const found = await this.get(kind, name).catch((error) => {
        if (!isNotFound(error)) throw error;
      });
      expect(found, `${kind.kind} ${name}`).toBeUndefined();
    }, PATIENCE);
  }

  /** The reasons and messages that users see in `kubectl describe`. */
  untilEvent(name: string, reason: string): Promise<string> {
    return eventually(async () => {
      const fieldSelector = `involvedObject.name=${name},reason=${reason}`;
      const { items } = await this.person.list(CoreEvent, { namespace: this.namespace, fieldSelector });
      expect(items.length, `events ${reason} of ${name}`).toBe(1);
      return items[0]?.message ?? "";
    }, PATIENCE);
  }

  /** Lets time pass for the operator. A run under way would count its pause from the time before, so none may be. */
  async pass(ms: number): Promise<void> {
    await eventually(() => expect(this.#activity.idle).toBe(true), PATIENCE);
    this.clock.jump(ms);
  }

  /** Ends the operator and starts it anew: it has forgotten everything. */
  async restart(): Promise<void> {
    this.#past.push(this.operator);
    await this.operator.stop();
    this.#activity = new Activity();
    this.operator = await launch(this, this.#activity);
  }

  ref(name: string): { namespace: string; name: string } {
    return { namespace: this.namespace, name };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const operators = [...this.#past, this.operator];
    await Promise.all(operators.map((operator) => operator.stop()));
    await this.server.close();
    for (const { log, transport } of operators) {
      for (const line of log) expect(this.secrets.foundIn(JSON.stringify(line)), line.msg).toEqual([]);
      for (const { path, body = "" } of transport.requests) {
        if (/\/(events|status)\b/.test(path)) expect(this.secrets.foundIn(body), path).toEqual([]);
      }
    }
  }
}

export async function openProxyStage(cluster: ClusterAccess, prefix: string): Promise<ProxyStage> {
  const [namespace, person, server] = await Promise.all([
    cluster.createNamespace(prefix),
    adminClient(cluster),
    startCoderdServer(),
  ]);
  const parts = { cluster, namespace, person, server, clock: new SkewedClock() };
  const activity = new Activity();
  return new ProxyStage({ ...parts, operator: await launch(parts, activity) }, activity);
}

function launch(parts: Omit<Parts, "operator">, observer: Activity): Promise<RunningOperator> {
  const { cluster, namespace, server, clock } = parts;
  const coderdRoute = fixedAddress(server.url);
  return startOperator(cluster, { namespaces: [namespace], coderdRoute, clock, observer });
}

/** The part of a spec that registers a proxy at a coderd by URL. */
export function bootstrap(coderd: Coderd, more: object = {}): WorkspaceProxySpec {
  return {
    bootstrap: { coderURL: coderd.url, credentialsSecretRef: { name: coderd.credentials }, ...more },
  };
}
