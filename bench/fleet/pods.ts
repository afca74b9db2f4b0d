import { type Client, Deployment, Pod, Secret, type Stored, timestamp } from "kube-controller-runtime";
import { rolledOutStatus } from "kube-controller-runtime/testing";
import { keyVariable } from "../../src/operator/provisioner/deployment.ts";
import type { Follower } from "../follow.ts";
import type { Coderds } from "./coderds.ts";

/**
 * Starts the pods of provisioners. A daemon joins the coderd that knows its key before its pod is reported as
 * running.
 */
export async function playDaemons(follower: Follower, person: Client, coderds: Coderds): Promise<void> {
  const started = new Set<string>();
  await follower.follow(Deployment, ({ type, object }) => {
    const { uid } = object.metadata;
    if (type === "deleted" || started.has(uid) || !runsDaemons(object)) return;
    started.add(uid);
    void startPods(object, person, coderds).catch(() => started.delete(uid));
  });
}

/** Whether a Deployment is that of a provisioner. */
export function runsDaemons({ metadata }: Stored<Deployment>): boolean {
  return metadata.name.startsWith("provisioner-");
}

/** Makes the pods of a provisioner's Deployment, with the key that it names, and reports them ready there. */
export async function startPods(
  { metadata, spec }: Stored<Deployment>,
  person: Client,
  coderds: Pick<Coderds, "join">,
): Promise<void> {
  const { namespace = "", name } = metadata;
  const template = spec?.template;
  const [container] = template?.spec?.containers ?? [];
  const place = container?.env?.find((variable) => variable.name === keyVariable)?.valueFrom?.secretKeyRef;
  const { data } = await person.get(Secret, { namespace, name: place?.name ?? "" });
  const secret = Buffer.from(data?.[place?.key ?? ""] ?? "", "base64").toString("utf8");
  const set = { apiVersion: "apps/v1", kind: "ReplicaSet", name: `${name}-1`, uid: metadata.uid };
  const ownerReferences = [{ ...set, controller: true }];
  const refs = Array.from({ length: spec?.replicas ?? 1 }, (_, index) => ({
    namespace,
    name: `${name}-1-${index}`,
  }));
  const { labels } = template?.metadata ?? {};
  for (const ref of refs) {
    await person.create(Pod, {
      metadata: { ...ref, ...(labels ? { labels } : {}), ownerReferences },
      spec: { containers: [{ name: container?.name ?? "", image: "coder" }] },
    });
    coderds.join(ref.name, secret);
  }
  const running = { name: container?.name ?? "", image: "coder", imageID: "coder", ready: true };
  const state = { running: { startedAt: timestamp(Date.now()) } };
  const conditions = [{ type: "Ready", status: "True" }];
  const status = {
    phase: "Running",
    conditions,
    containerStatuses: [{ ...running, restartCount: 0, state }],
  };
  for (const ref of refs) await person.patchStatus(Pod, ref, { status });
  const rolledOut = rolledOutStatus(metadata.generation ?? 0, refs.length);
  await person.patchStatus(Deployment, { namespace, name }, { status: rolledOut });
}
