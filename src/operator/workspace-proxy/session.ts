import type { CoderClient } from "../../coder/client.ts";
import type { FoundControlPlane } from "../coderd/find-control-plane.ts";

/** The coderd that the proxy is for. */
export interface Coderd {
  /** Where the operator reaches it. */
  readonly url: string;
  /** What it calls itself: the proxy sends browsers there. */
  readonly accessURL: string;
  /** The image to run when the spec names none. */
  readonly image: string;
  /** Absent when coderd is not one of ours. */
  readonly controlPlane?: FoundControlPlane;
}

/** A session at coderd's API. */
export interface ProxySession {
  readonly kind: "session";
  readonly client: CoderClient;
  readonly coderd: Coderd;
  /** Differs when an answer given earlier may no longer be true: another token, another license. */
  readonly fingerprint: string;
}

/** What the credentials of the spec open: coderd's API, or no more than the door for the proxy itself. */
export type Access = ProxySession | { readonly kind: "token"; readonly token: string };
