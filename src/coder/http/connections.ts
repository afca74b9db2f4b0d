import { admittedBy } from "kube-controller-runtime";
import { Agent, type Dispatcher } from "undici";
import { parseCertificates } from "../certificates.ts";
import { codeOf } from "../error-code.ts";
import { NoAnswer } from "./no-answer.ts";

const CONNECT_TIMEOUT_MS = 5_000;

const UNKNOWN_ISSUER = [
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
];

export interface ConnectionsOptions {
  readonly limit: number;
  /** PEM certificates to trust in addition to the system's. */
  readonly ca: string | undefined;
  /** Name that the certificate must be valid for. Defaults to the host of the URL. */
  readonly servername: string | undefined;
  /** Called before each request is sent. If it throws, the request is not sent. */
  readonly admit: () => void;
}

type Trust = "given" | "system";

/**
 * Connections to one coderd. It tries the given certificates first and then the system's, separately, because
 * a combined list would cost over a megabyte and tens of milliseconds per coderd.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  #current: { readonly agent: Agent; readonly trust: Trust } | undefined;
  #trust: Trust;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#trust = options.ca === undefined ? "system" : "given";
  }

  async request(options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData> {
    this.#current ??= { agent: this.#open(), trust: this.#trust };
    const current = this.#current;
    try {
      return await admittedBy(this.#options.admit, current.agent).request(options);
    } catch (error) {
      if (current.trust === "system" || !UNKNOWN_ISSUER.includes(codeOf(error))) throw error;
      if (this.#current === current) {
        // Requests that wait in the old agent fail and are retried with the new one.
        this.#trust = "system";
        this.#current = undefined;
        void current.agent.close();
      }
      return this.request(options);
    }
  }

  async close(): Promise<void> {
    const current = this.#current;
    this.#current = undefined;
    await current?.agent.destroy();
  }

  #open(): Agent {
    const { servername } = this.#options;
    return new Agent({
      connections: this.#options.limit,
      pipelining: 1,
      allowH2: false,
      connect: {
        timeout: CONNECT_TIMEOUT_MS,
        ...(servername ? { servername } : {}),
        ...(this.#trust === "given" ? { ca: this.#givenCertificates() } : {}),
      },
    });
  }

  #givenCertificates(): string[] {
    const ca = parseCertificates(this.#options.ca ?? "");
    if (!ca) throw new NoAnswer("the configured CA certificates are not valid PEM");
    return ca;
  }
}
