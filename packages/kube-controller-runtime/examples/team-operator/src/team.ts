import { type Condition, type KubeObject, kind } from "kube-controller-runtime";

/** What users write: a team, for the whole cluster. */
export interface Team extends KubeObject {
  spec?: { members?: string[] };
  status?: TeamStatus;
}

/** What the operator reports. */
export interface TeamStatus {
  namespace?: string;
  conditions?: readonly Condition[];
}

/** The kind, as `crd.yaml` defines it. */
export const Team = kind<Team>("directory.example.com/v1", {
  kind: "Team",
  plural: "teams",
  namespaced: false,
});
