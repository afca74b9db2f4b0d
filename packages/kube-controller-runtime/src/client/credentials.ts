import { isDeepStrictEqual } from "node:util";
import { type Clock, systemClock } from "../clock.ts";
import type { Identity, RequestHeaders, TlsOptions } from "./identity.ts";
import type { Settings } from "./kubeconfig/merge.ts";
import { askPlugin, type PluginCredential } from "./kubeconfig/plugin-credential.ts";
import { readIdentity } from "./kubeconfig/read-identity.ts";
import {
  type CredentialsSource,
  loadSettings,
  type ProcessEnvironment,
  processEnvironment,
} from "./kubeconfig/sources.ts";
import { KubeconfigError } from "./kubeconfig-error.ts";
import type { ProxyAddress } from "./proxy/address.ts";
import { proxyFromEnvironment } from "./proxy/environment.ts";

/** How long files are cached. Short, although a 401 also causes them to be read. */
const FILES_BELIEVED_MS = 10_000;

/** The address of the API server and the client's credentials. */
export interface Credentials {
  readonly origin: string;
  /** Non-empty if the API server is served below a path, as by Rancher. */
  readonly pathPrefix: string;
  /** The namespace of the context or the service account; absent if neither sets one. */
  readonly namespace?: string | undefined;
  /** The proxy to connect through. */
  readonly proxy?: ProxyAddress | undefined;
  /** The current options; a new object after the certificates have changed. */
  readonly tls: TlsOptions;
  /**
   * The current headers; runs exec plugins again when their credentials expire, and follows rotated files.
   */
  headers(): Promise<RequestHeaders>;
  /** Reads files, exec plugins and certificates again. Concurrent calls share one read. */
  refresh(): Promise<void>;
}

/**
 * Loads credentials in the usual order: the given kubeconfig, `KUBECONFIG`, the in-cluster service account,
 * `~/.kube/config`. If there is no usable cluster, throws an error that says what to set.
 */
export async function loadCredentials(
  source: CredentialsSource = {},
  clock: Clock = systemClock,
  environment: ProcessEnvironment = processEnvironment(),
): Promise<Credentials> {
  const load = () => loadSettings(source, environment);
  const settings = await load();
  const { server } = settings.cluster;
  const reader = new CredentialsReader(settings, clock);
  await reader.readAgain(async () => settings);
  return {
    origin: server.origin,
    pathPrefix: server.pathname.replace(/\/$/, ""),
    namespace: settings.namespace,
    proxy: settings.cluster.proxy ?? proxyFromEnvironment(server, environment.env),
    get tls() {
      return reader.identity.tls;
    },
    headers: () => reader.headers(),
    refresh: shared(() => reader.readAgain(load)),
  };
}

/**
 * The credentials as of the last read. Reads are serialized, so that an older one never replaces a newer one.
 */
class CredentialsReader {
  identity: Identity = { tls: {}, headers: {} };
  readonly #clock: Clock;
  readonly #follow = shared(() => this.#inTurn(() => this.#followFiles()));
  #settings: Settings;
  #answer: PluginCredential | undefined;
  #readAt = 0;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(settings: Settings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  async headers(): Promise<RequestHeaders> {
    const isOld = this.#clock.monotonic() - this.#readAt > FILES_BELIEVED_MS;
    if (isOld || this.#hasExpired()) await this.#follow();
    return this.identity.headers;
  }

  /**
   * Loads the settings and runs the plugin again, even if its last credentials are still valid. Keeps the
   * previous state on failure.
   */
  readAgain(load: () => Promise<Settings>): Promise<void> {
    return this.#inTurn(async () => {
      const settings = await load();
      const [before, after] = [this.#settings.cluster.server.href, settings.cluster.server.href];
      // Connections still go to the first server, which must not receive the credentials of another.
      if (before !== after)
        throw new KubeconfigError(`the API server has changed to ${after}: restart to use it`);
      const answer = await this.#ask(settings);
      this.#become(await readIdentity(settings, answer), settings, answer);
    });
  }

  /** Files that can't be read are probably being rotated. Expired credentials of a plugin are not kept. */
  async #followFiles(): Promise<void> {
    const settings = this.#settings;
    const answer = this.#hasExpired() ? await this.#ask(settings) : this.#answer;
    const identity = await readIdentity(settings, answer).catch((error: unknown) => {
      if (answer !== this.#answer) throw error;
      return this.identity;
    });
    this.#become(identity, settings, answer);
  }

  #ask({ user: { plugin }, cluster }: Settings): Promise<PluginCredential> | undefined {
    return plugin && askPlugin(plugin, cluster, this.#clock);
  }

  #become(identity: Identity, settings: Settings, answer: PluginCredential | undefined): void {
    const { tls } = this.identity;
    this.identity = isDeepStrictEqual(tls, identity.tls) ? { ...identity, tls } : identity;
    this.#settings = settings;
    this.#answer = answer;
    this.#readAt = this.#clock.monotonic();
  }

  #hasExpired(): boolean {
    const expiresAt = this.#answer?.expiresAt;
    return expiresAt !== undefined && expiresAt <= this.#clock.now();
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const mine = this.#turn.then(work, work);
    this.#turn = mine;
    return mine;
  }
}

/** Concurrent calls share the work in progress. */
function shared(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => {
    running ??= work().finally(() => {
      running = undefined;
    });
    return running;
  };
}
