import { hash } from "node:crypto";
import type { Clock, Fence } from "kube-controller-runtime";
import { type CoderClient, coderClient } from "./client.ts";
import type { Answer } from "./http/answer.ts";
import { CoderHost, type HostOptions, type HttpRequest } from "./http/host.ts";
import { NoAnswer } from "./http/no-answer.ts";
import { directRoute, type Route } from "./http/route.ts";
import { type CoderObserver, observed } from "./observer.ts";
import { type FinishedCall, timed } from "./timed.ts";

const IDLE_MS = 60_000;

/** Address of a coderd and the token to use. */
export interface CoderTarget {
  readonly url: string;
  readonly token?: string | undefined;
  /**
   * Host of the access URL. The certificate must be valid for this name, and requests are sent for this host,
   * but the connection goes to `url`.
   */
  readonly accessHost?: string | undefined;
  /** PEM certificates to trust in addition to the system's. */
  readonly ca?: string | undefined;
  /**
   * Why the certificates are not usable. If set, every call fails with this message and no request is sent.
   */
  readonly fault?: string | undefined;
}

export interface CoderClientsOptions {
  readonly clock: Clock;
  /** Checked before each request is sent. When it closes, all connections are closed. */
  readonly fence: Fence;
  /** Route to a coderd. Defaults to its URL. */
  readonly route?: Route;
  readonly observer?: CoderObserver;
  /** Called after each call. */
  readonly onCall?: (call: FinishedCall) => void;
}

type HostTarget = Pick<HostOptions, "url" | "accessHost" | "ca">;

interface OpenHost {
  readonly host: CoderHost;
  inUse: number;
  cancelClose: (() => void) | undefined;
}

/**
 * Clients for any number of coderds. All clients of one coderd share its connections and its concurrency
 * limit, so creating a client is cheap. A coderd that has not been used for a minute holds no connections and
 * no memory.
 */
export class CoderClients {
  readonly #options: CoderClientsOptions;
  /** Keyed by coderd and certificates. */
  readonly #hosts = new Map<string, OpenHost>();

  constructor(options: CoderClientsOptions) {
    this.#options = options;
    options.fence.signal.addEventListener("abort", () => void this.close(), { once: true });
  }

  /** Returns a client for `target`. If the URL is invalid, every call fails. */
  client({ url: address, token, accessHost, ca, fault }: CoderTarget): CoderClient {
    const { clock, observer, onCall } = this.#options;
    const url = httpUrl(address);
    let key: string | undefined;
    const client = coderClient({
      where: url?.origin ?? "coderd",
      token: token?.trim(),
      clock,
      send: async (request) => {
        if (fault) throw new NoAnswer(fault);
        if (!url) throw new NoAnswer("its URL is not a valid http:// or https:// URL");
        // Computed once and on demand, because the certificates may be long.
        key ??= `${url.origin}${url.pathname} ${accessHost ?? ""} ${ca ? hash("sha256", ca) : ""}`;
        return this.#send(request, key, { url, accessHost, ca });
      },
    });
    const measured = onCall ? timed(client, clock, onCall) : client;
    return observer ? observed(measured, address, observer) : measured;
  }

  /** Number of coderds with open connections. */
  get open(): number {
    return this.#hosts.size;
  }

  async close(): Promise<void> {
    const hosts = [...this.#hosts.values()];
    this.#hosts.clear();
    for (const { cancelClose } of hosts) cancelClose?.();
    await Promise.all(hosts.map(({ host }) => host.close()));
  }

  async #send(request: HttpRequest, key: string, target: HostTarget): Promise<Answer> {
    const open = this.#hosts.get(key) ?? this.#open(key, target);
    open.cancelClose?.();
    open.inUse++;
    try {
      return await open.host.send(request);
    } finally {
      open.inUse--;
      if (open.inUse === 0 && this.#hosts.get(key) === open)
        open.cancelClose = this.#options.clock.setTimer(() => {
          this.#hosts.delete(key);
          void open.host.close();
        }, IDLE_MS);
    }
  }

  #open(key: string, target: HostTarget): OpenHost {
    const { clock, fence, route = directRoute } = this.#options;
    const host = new CoderHost({ ...target, clock, fence, route });
    const open: OpenHost = { host, inUse: 0, cancelClose: undefined };
    this.#hosts.set(key, open);
    return open;
  }
}

function httpUrl(address: string): URL | undefined {
  const url = URL.parse(address);
  return url && /^https?:$/.test(url.protocol) ? url : undefined;
}
