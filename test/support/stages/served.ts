import { randomBytes } from "node:crypto";
import type { KubeObject } from "kube-controller-runtime";
import { StaticAccounts } from "../../../lab/coderd/accounts.ts";
import type { CoderdDeployment, DeploymentOptions } from "../../../lab/coderd/deployment.ts";
import { fakeLicense } from "../../../lab/coderd/licenses.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
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

/** A stage with any number of coderds, each with an owner's token. */
export abstract class ServedStage<T extends KubeObject> extends Stage<T> {
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

  async putToken(secret: string, token: string): Promise<void> {
    await this.putSecret(secret, { token });
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
}
