import { type Client, Deployment, Pod, Secret, type Stored, timestamp } from "kube-controller-runtime";
import { keyVariable } from "../../src/operator/provisioner/resources/deployment.ts";
import type { Follower } from "../follow.ts";
import type { Coderds } from "./coderds.ts";

/** Starts the pods of provisioners, and has their daemons join whichever coderd knows their key. */
export async function playDaemons(follower: Follower, person: Client, coderds: Coderds): Promise<void> {
  const started = new Set<string>();
  await follower.follow(Deployment, ({ type, object }) => {
    const { uid, name } = object.metadata;
    if (type === "deleted" || started.has(uid) || !name.startsWith("provisioner-")) return;
    started.add(uid);
    void startPods(object, person, coderds).catch(() => started.delete(uid));
  });
}

async function startPods({ metadata, spec }: Stored<Deployment>, person: Client, coderds: Coderds) {
  const { namespace = "", name } = metadata;
  const template = spec?.template;
  const [container] = template?.spec?.containers ?? [];
  const place = container?.env?.find((variable) => variable.name === keyVariable)?.valueFrom?.secretKeyRef;
  const { data } = await person.get(Secret, { namespace, name: place?.name ?? "" });
  const secret = Buffer.from(data?.[place?.key ?? ""] ?? "", "base64").toString("utf8");
  const set = { apiVersion: "apps/v1", kind: "ReplicaSet", name: `${name}-1`, uid: metadata.uid };
  const ownerReferences = [{ ...set, controller: true }];
  for (let index = 0; index < (spec?.replicas ?? 1); index++) {
    const ref = { namespace, name: `${name}-1-${index}` };
    const { labels } = template?.metadata ?? {};
    await person.create(Pod, {
      metadata: { ...ref, ...(labels ? { labels } : {}), ownerReferences },
      spec: { containers: [{ name: container?.name ?? "", image: "coder" }] },
    });
    const running = { name: container?.name ?? "", image: "coder", imageID: "coder", ready: true };
    const state = { running: { startedAt: timestamp(Date.now()) } };
    const status = { phase: "Running", containerStatuses: [{ ...running, restartCount: 0, state }] };
    await person.patchStatus(Pod, ref, { status });
    coderds.join(ref.name, secret);
  }
}
