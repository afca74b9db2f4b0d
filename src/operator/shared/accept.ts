import {
  type Condition,
  type Kind,
  type RunContext,
  type Stored,
  setCondition,
  type WithStatus,
  writeStatus,
} from "kube-controller-runtime";
import type { Phase } from "../../api/v1alpha1/common.ts";

interface FirstStatus {
  phase?: Phase;
  readyReplicas?: number;
  conditions?: Condition[];
}

/** Whether nobody has said anything about an object yet. */
export function isNew({ metadata, status = {} }: Stored<WithStatus<FirstStatus>>): boolean {
  return Object.keys(status).length === 0 && metadata.deletionTimestamp === undefined;
}

/**
 * The first status of an object, written before anything is done for it: it was seen. It has no
 * `observedGeneration`, because nothing of the spec was looked at.
 */
export function accept<T extends WithStatus<S>, S extends FirstStatus>(kind: Kind<T>) {
  return (object: Stored<T>, { client, clock }: RunContext): Promise<Stored<T>> => {
    const now = clock.now();
    const ready = {
      status: "False",
      reason: "Pending",
      message: "The operator has seen this object and is about to create what it asks for.",
    } as const;
    const update = (status: Partial<S>): Partial<S> =>
      ({
        phase: "Pending",
        readyReplicas: 0,
        ...status,
        conditions: setCondition(status.conditions ?? [], "Ready", { ...ready, now }),
      }) as Partial<S>;
    return writeStatus<T, S>(client, { kind, object, update });
  };
}
