import type { TransportRequest } from "kube-controller-runtime";
import type { ChildrenStage } from "./stages/children.ts";

/** A write of a child. */
export const writeOf = (plural: string, name: string) => (request: TransportRequest) =>
  request.method === "PATCH" && request.path.includes(`/${plural}/${name}`);

/** A write of the status of a control plane. */
export const statusOf = (name: string) => (request: TransportRequest) =>
  request.path.includes(`/codercontrolplanes/${name}/status`);

/** What the operator logged when its runs of a control plane failed. */
export function failedRunsOf({ operator, namespace }: ChildrenStage, name: string): string[] {
  return operator.log
    .filter(({ msg, object }) => msg.startsWith("run failed") && object === `${namespace}/${name}`)
    .map(({ error }) => JSON.stringify(error));
}
