import type { V1Pod } from "@kubernetes/client-node";
import { eventually } from "kube-controller-runtime/testing";
import { expect } from "vitest";
import { TIME_LIMIT } from "./cluster.ts";
import type { Platform } from "./platform.ts";

const NAME = "hungry";

/** Whether a container that uses more memory than its limit is killed here, as a kubelet reports it. */
export async function canKillForMemory({
  cluster,
  workspaceNamespace: namespace,
}: Platform): Promise<boolean> {
  const command = ["sh", "-c", "head -c 64m /dev/zero | tail -n 1 | wc -c"];
  const resources = { limits: { memory: "24Mi" } };
  await cluster.apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace, name: NAME },
    spec: {
      restartPolicy: "Never",
      containers: [{ name: NAME, image: cluster.place.coder?.current, command, resources }],
    },
  });
  return eventually(async () => {
    const { status } = await cluster.get<V1Pod>([`pod/${NAME}`, `--namespace=${namespace}`]);
    const end = status?.containerStatuses?.[0]?.state?.terminated;
    expect(end).toBeDefined();
    return end?.reason === "OOMKilled" || end?.exitCode === 137;
  }, TIME_LIMIT);
}
