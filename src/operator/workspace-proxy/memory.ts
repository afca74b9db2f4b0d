import type { WorkspaceProxy } from "../../coder/model.ts";
import type { Patience } from "../shared/patience.ts";
import type { Session } from "./steps/credentials.ts";

/** What the operator remembers of one workspace proxy between runs, so that most of them need not ask coderd. */
export interface Memory {
  /** The proxy as coderd last showed it, and what that answer depended on. */
  seen: { readonly inputs: string; readonly at: number; readonly record: WorkspaceProxy };
  setback: Patience;
  /** The way into coderd that last worked: it may outlive its Secret when a whole namespace is deleted. */
  session: Session;
}
