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

/** A coderd and whom to be there. */
export interface CoderTarget {
  readonly url: string;
  readonly token?: string | undefined;
  /**
   * Host of its access URL, by which it wants to be asked: its certificate is checked for that name, and each request says
   * that it is for that host. The connection goes to `url` all the same.
   */
  readonly accessHost?: string | undefined;
  /** PEM certificates to trust besides the system's. */
  readonly ca?: string | undefined;
  /** Why those can't be used: no request is made then, and every call fails with it. */
  readonly fault?: string | undefined;
}

export interface CoderClientsOptions {
  readonly clock: Clock;
  /** Asked as each request leaves the process. Once it is closed, all connections are cut. */
  readonly fence: Fence;
  /** How to reach a coderd from here; straight to its URL unless said otherwise. */
  readonly route?: Route;
  readonly observer?: CoderObserver;
  /** Called after every call of every client. */
  readonly onCall?: (call: FinishedCall) => void;
}

type HostTarget = Pick<HostOptions, "url" | "accessHost" | "ca">;

interface OpenHost {
  readonly host: CoderHost;
  inUse: number;
  cancelClose: (() => void) | undefined;
}

/**
 * Clients for any number of coderds. Connections belong to a coderd, not to a client, so asking for a client
 * is cheap and all clients of one coderd share its connections and its limit. A coderd that nobody asked for
 * a minute keeps no connection and no memory.
 */
export class CoderClients {
  readonly #options: CoderClientsOptions;
  /** By what is the same for the same coderd and authorities. */
  readonly #hosts = new Map<string, OpenHost>();

  constructor(options: CoderClientsOptions) {
    this.#options = options;
    options.fence.signal.addEventListener("abort", () => void this.close(), { once: true });
  }

  /** A client for `target`. With a URL that is none, every call fails and says so. */
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
        // Once, and not before it is needed: a text of authorities may be long.
        key ??= `${url.origin}${url.pathname} ${accessHost ?? ""} ${ca ? hash("sha256", ca) : ""}`;
        return this.#send(request, key, { url, accessHost, ca });
      },
    });
    const measured = onCall ? timed(client, clock, onCall) : client;
    return observer ? observed(measured, address, observer) : measured;
  }

  /** The number of coderds that hold connections. */
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
