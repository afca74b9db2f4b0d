import type { CoderClient } from "../../coder/client.ts";
import type { FoundControlPlane } from "../coderd/find-control-plane.ts";

/** The coderd of the proxy. */
export interface Coderd {
  /** URL for requests of the operator. */
  readonly url: string;
  /** Access URL of coderd. The proxy redirects browsers to it. */
  readonly accessURL: string;
  /** Image for the proxy if the spec does not set one. */
  readonly image: string;
  /** Absent if coderd is not run by a control plane in this cluster. */
  readonly controlPlane?: FoundControlPlane;
}

/** A session with coderd's API. */
export interface ProxySession {
  readonly kind: "session";
  readonly client: CoderClient;
  readonly coderd: Coderd;
  /**
   * Differs if a previous response may be outdated, for example after a change of the token or the license.
   */
  readonly fingerprint: string;
}

/** What the credentials in the spec allow: access to coderd's API, or only the token of the proxy itself. */
export type Access = ProxySession | { readonly kind: "token"; readonly token: string };
