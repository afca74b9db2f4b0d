import type { StartMemory } from "kube-controller-runtime";
import type { WorkspaceProxy } from "../../coder/model.ts";
import type { Patience } from "../coderd/patience.ts";
import type { Session } from "./steps/credentials.ts";

/** What the operator remembers of one workspace proxy between runs, so that most of them need not ask coderd. */
export interface Memory extends StartMemory {
  /** The proxy as coderd last showed it. */
  seen: {
    readonly record: WorkspaceProxy;
    readonly at: number;
    /** When it was first seen to fare as it does. */
    readonly since: number;
    /** What the answer depended on. */
    readonly inputs: string;
  };
  setback: Patience;
  /** The way into coderd that last worked: it may outlive its Secret when a whole namespace is deleted. */
  session: Session;
}
