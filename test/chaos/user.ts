import { setTimeout as sleep } from "node:timers/promises";
import { ApiError, isNotFound, type Kind, type KubeObject, Secret } from "kube-controller-runtime";
import {
  CoderControlPlane,
  CoderGroup,
  CoderProvisioner,
  CoderWorkspaceProxy,
} from "../../src/api/v1alpha1/kinds.ts";
import type { ControlPlaneWish, GroupWish, ProvisionerWish, ProxyWish, Wish } from "./fleet.ts";
import type { World } from "./world.ts";

type UserWorld = Pick<World, "person" | "namespace" | "coderds" | "licenses">;

const RETRY_MS = 300;
/** A user tries again while the API server is away; longer than this it never is. */
const TIME_LIMIT_MS = 120_000;
/** What nothing may hold up: the lease of a dead leader, a coderd that hangs, and a busy machine. */
const DELETION_MS = 180_000;

export const KINDS: Readonly<Record<Wish["kind"], Kind>> = {
  CoderControlPlane,
  CoderProvisioner,
  CoderWorkspaceProxy,
  CoderGroup,
};

/** Makes the cluster say what the user wants, whether the object is there already or not. */
export async function applyWish(wish: Wish, world: UserWorld): Promise<void> {
  for (const [kind, manifest] of manifestsOf(wish, world)) {
    await insist(() => world.person.apply(kind, manifest));
  }
}

/** Deletes the object, waits until it is gone, and recreates it. */
export async function recreate(wish: Wish, world: UserWorld): Promise<void> {
  await remove(wish, world);
  await applyWish(wish, world);
}

/** Returns when the object is gone; nothing may hold that up for long. */
export async function remove({ kind, name }: Wish, { person, namespace }: UserWorld): Promise<void> {
  const ref = { namespace, name };
  await insist(() => person.delete(KINDS[kind], ref).catch(unlessGone));
  const isActive = async () => {
    const found = await person.get(KINDS[kind], ref).catch(unlessGone);
    return found !== undefined;
  };
  for (const deadline = performance.now() + DELETION_MS; await insist(isActive); await sleep(RETRY_MS)) {
    if (performance.now() > deadline)
      throw new Error(`${kind} ${name} is still there ${DELETION_MS / 1_000} s after its deletion`);
  }
}

export async function deleteSecret(name: string, { person, namespace }: UserWorld): Promise<void> {
  await insist(() => person.delete(Secret, { namespace, name }).catch(unlessGone));
}

/** Repeats a request while the API server can't serve it. */
async function insist<T>(request: () => Promise<T>): Promise<T> {
  for (const deadline = performance.now() + TIME_LIMIT_MS; ; await sleep(RETRY_MS)) {
    try {
      return await request();
    } catch (error) {
      const isRefusal = error instanceof ApiError && [400, 403, 422].includes(error.code);
      if (isRefusal || performance.now() > deadline) throw error;
    }
  }
}

function unlessGone(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

function manifestsOf(wish: Wish, world: UserWorld): [Kind, KubeObject][] {
  const metadata = { namespace: world.namespace, name: wish.name };
  const { apiVersion, kind } = KINDS[wish.kind];
  const object = (spec: object): [Kind, KubeObject] => [
    KINDS[wish.kind],
    { apiVersion, kind, metadata, spec } as KubeObject,
  ];
  switch (wish.kind) {
    case "CoderControlPlane":
      return [...secretsOf(wish, world), object(controlPlaneSpec(wish))];
    case "CoderProvisioner":
      return [object(provisionerSpec(wish))];
    case "CoderWorkspaceProxy":
      return [object(proxySpec(wish))];
    case "CoderGroup":
      return [object(groupSpec(wish))];
  }
}

function secretsOf({ name, license }: ControlPlaneWish, world: UserWorld): [Kind, KubeObject][] {
  const { namespace, coderds, licenses } = world;
  const values = { license: licenses[license], database: coderds.get(name)?.database.url ?? "" };
  return Object.entries(values).map(([key, value]) => {
    const metadata = { namespace, name: `${name}-${key}` };
    const data = { [key]: Buffer.from(value, "utf8").toString("base64") };
    return [Secret, { apiVersion: "v1", kind: "Secret", metadata, data } as KubeObject];
  });
}

function controlPlaneSpec({ name, replicas }: ControlPlaneWish): object {
  const secretKeyRef = { name: `${name}-database`, key: "database" };
  return {
    replicas,
    extraEnv: [{ name: "CODER_PG_CONNECTION_URL", valueFrom: { secretKeyRef } }],
    licenseSecretRef: { name: `${name}-license` },
  };
}

function provisionerSpec({ controlPlane, organization, tags, replicas, keyName }: ProvisionerWish): object {
  return {
    controlPlaneRef: { name: controlPlane },
    organizationName: organization,
    tags: { ...tags },
    replicas,
    ...(keyName ? { key: { name: keyName } } : {}),
  };
}

function groupSpec({ controlPlane, organization, groupName, quota }: GroupWish): object {
  return {
    controlPlaneRef: { name: controlPlane },
    organizationName: organization,
    name: groupName,
    quotaAllowance: quota,
    deletionPolicy: "Delete",
  };
}

function proxySpec({ controlPlane, proxyName, displayName, replicas }: ProxyWish): object {
  const icon = "/emojis/1f1e6-1f1fa.png";
  return {
    controlPlaneRef: { name: controlPlane },
    registration: { proxyName, displayName, icon },
    replicas,
  };
}
