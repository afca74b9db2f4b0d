import { type Condition, type KubeObject, kind } from "kube-controller-runtime";

/** A cluster-scoped team, created by users. */
export interface Team extends KubeObject {
  spec?: { members?: string[] };
  status?: TeamStatus;
}

/** The status, written by the operator. */
export interface TeamStatus {
  namespace?: string;
  conditions?: readonly Condition[];
}

/** The kind, as defined in `crd.yaml`. */
export const Team = kind<Team>("directory.example.com/v1", {
  kind: "Team",
  plural: "teams",
  namespaced: false,
});
