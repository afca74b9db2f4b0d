import { isDeepStrictEqual } from "node:util";
import { type Clock, systemClock } from "../clock.ts";
import type { Identity, RequestHeaders, TlsOptions } from "./identity.ts";
import type { Settings } from "./kubeconfig/merge.ts";
import { askPlugin, type PluginCredential } from "./kubeconfig/plugin-credential.ts";
import { readIdentity } from "./kubeconfig/read-identity.ts";
import {
  type CredentialsSource,
  loadSettings,
  ownSurroundings,
  type Surroundings,
} from "./kubeconfig/sources.ts";
import { KubeconfigError } from "./kubeconfig-error.ts";
import type { ProxyAddress } from "./proxy/address.ts";
import { proxyFromEnvironment } from "./proxy/environment.ts";

/** How long files are believed without looking again; a 401 looks at once, so a short time is safe. */
const FILES_BELIEVED_MS = 10_000;

/** Where the API server is and how we prove who we are. */
export interface Credentials {
  readonly origin: string;
  /** Non-empty when the API server is served below a path, as by Rancher. */
  readonly pathPrefix: string;
  /** The namespace of the context or the service account; absent where neither names one. */
  readonly namespace?: string | undefined;
  /** What to connect through. */
  readonly proxy?: ProxyAddress | undefined;
  /** Of the moment; another value after a reading that found other certificates. */
  readonly tls: TlsOptions;
  /** The headers of the moment; asks exec plugins again as they expire, and follows files as they are rotated. */
  headers(): Promise<RequestHeaders>;
  /** Reads everything anew: files, exec plugins, certificates. Calls at the same time share one reading. */
  refresh(): Promise<void>;
}

/**
 * Loads credentials in the usual order: the named kubeconfig, `KUBECONFIG`, the in-cluster service
 * account, `~/.kube/config`. Throws with what to set when there is no usable cluster.
 */
export async function loadCredentials(
  source: CredentialsSource = {},
  clock: Clock = systemClock,
  surroundings: Surroundings = ownSurroundings(),
): Promise<Credentials> {
  const load = () => loadSettings(source, surroundings);
  const settings = await load();
  const { server } = settings.cluster;
  const reader = new CredentialsReader(settings, clock);
  await reader.readAgain(async () => settings);
  return {
    origin: server.origin,
    pathPrefix: server.pathname.replace(/\/$/, ""),
    namespace: settings.namespace,
    proxy: settings.cluster.proxy ?? proxyFromEnvironment(server, surroundings.env),
    get tls() {
      return reader.identity.tls;
    },
    headers: () => reader.headers(),
    refresh: shared(() => reader.readAgain(load)),
  };
}

/** The credentials as they were read last. Readings follow one another, so that an older never replaces a newer. */
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

  /** Loads the settings and asks the plugin again, even when its last answer is still valid. Keeps what was known when that fails. */
  readAgain(load: () => Promise<Settings>): Promise<void> {
    return this.#inTurn(async () => {
      const settings = await load();
      const [before, after] = [this.#settings.cluster.server.href, settings.cluster.server.href];
      // The connections stay those of the first server, which must not see another server's credentials.
      if (before !== after)
        throw new KubeconfigError(`the API server has changed to ${after}: restart to use it`);
      const answer = await this.#ask(settings);
      this.#become(await readIdentity(settings, answer), settings, answer);
    });
  }

  /** Files that can't be read at the moment are being rotated; an expired answer of a plugin helps nobody. */
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

/** Work that is under way is not begun a second time: whoever asks meanwhile gets its result. */
function shared(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => {
    running ??= work().finally(() => {
      running = undefined;
    });
    return running;
  };
}
