import type { Clock } from "kube-controller-runtime";
import { type Appearance, appearance, appearanceBody } from "./appearance.ts";
import { boolean, type Decoder, list, object } from "./decode.ts";
import type { CoderFailure } from "./failure.ts";
import { type HealthReport, healthReport } from "./health.ts";
import type { Answer, AnswerShape } from "./http/answer.ts";
import { classify, transient } from "./http/classify.ts";
import type { HttpRequest } from "./http/host.ts";
import { NoAnswer } from "./http/no-answer.ts";
import * as model from "./model.ts";
import * as provisioning from "./provisioning.ts";
import { proxyOfToken } from "./proxy-token.ts";
import { failed, type Result, succeeded } from "./result.ts";
import { WORKSPACES_PER_PAGE, type WorkspacePage, workspacePage } from "./workspaces.ts";

type CoderResult<T> = Promise<Result<T, CoderFailure>>;

interface ProxyRegistration {
  readonly name: string;
  readonly displayName: string;
  readonly icon: string;
}

/**
 * What the operator asks of one coderd, with one token. Remote faults are values; a method throws only on a
 * bug of ours. Nothing is retried here: that is for the caller's queue to decide.
 */
export interface CoderClient {
  buildInfo(): CoderResult<model.BuildInfo>;
  /** The user of the token: the way to check a token, since entitlements answer to anyone. */
  currentUser(): CoderResult<model.User>;
  /** When the token itself ends, in milliseconds since the epoch. */
  tokenEnd(): CoderResult<number>;
  /** Ends a token of the token's own user, by its identifier: the part before the dash. */
  deleteToken(id: string): CoderResult<void>;
  organizations(): CoderResult<readonly model.Organization[]>;
  /** By name, id, or the alias `default`. */
  organization(nameOrId: string): CoderResult<model.Organization>;
  /** Of an organization by name, id, or the alias `default`. */
  provisionerKeys(nameOrId: string): CoderResult<readonly model.ProvisionerKey[]>;
  /** The key's plaintext, which coderd never shows again. coderd lower-cases the name. */
  createProvisionerKey(organizationId: string, key: NewProvisionerKey): CoderResult<string>;
  deleteProvisionerKey(organizationId: string, name: string): CoderResult<void>;
  /** The key that a daemon with this secret would be let in with; undefined when coderd refuses the secret. */
  provisionerKeyOf(secret: string): CoderResult<model.ProvisionerKey | undefined>;
  /**
   * The jobs of an organization that are not over, newest first, at most 1,000 of them. `notFound` also when
   * the token may not list them.
   */
  unfinishedJobs(organizationId: string): CoderResult<readonly provisioning.ProvisionerJob[]>;
  /** The daemons of an organization that coderd does not list as offline, at most 2,000. */
  provisionerDaemons(organizationId: string): CoderResult<readonly provisioning.ProvisionerDaemon[]>;
  /** At most 100 workspaces of an organization from `offset` on. Empty also when the token may read none. */
  workspaces(organizationId: string, offset: number): CoderResult<WorkspacePage>;
  /** Empty also when the token may not read licenses: no proof of absence unless it is an owner's. */
  licenses(): CoderResult<readonly model.License[]>;
  addLicense(jwt: string): CoderResult<model.License>;
  entitlements(): CoderResult<model.Entitlements>;
  /** Nothing of what is set without the feature `appearance`, although it stays stored. */
  appearance(): CoderResult<Appearance>;
  /** Replaces name, logo and all banners. coderd lets an owner do it without the feature too. */
  setAppearance(appearance: Appearance): CoderResult<void>;
  /** Whether coderd makes and removes no prebuilds. */
  prebuildsPaused(): CoderResult<boolean>;
  setPrebuildsPaused(isPaused: boolean): CoderResult<void>;
  /** What the replica that answers thinks of the deployment. It may need up to 30 s for it, once in ten minutes. */
  health(): CoderResult<HealthReport>;
  workspaceProxies(): CoderResult<readonly model.WorkspaceProxy[]>;
  workspaceProxy(nameOrId: string): CoderResult<model.WorkspaceProxy>;
  createWorkspaceProxy(proxy: ProxyRegistration): CoderResult<model.RegisteredProxy>;
  /** Makes a new token; the old one ends at once. Also sets the name, display name and icon given. */
  regenerateProxyToken(id: string, proxy: ProxyRegistration): CoderResult<model.RegisteredProxy>;
  /** Sets the name, display name and icon given; the token stays. */
  updateWorkspaceProxy(id: string, proxy: ProxyRegistration): CoderResult<void>;
  /** Whether a proxy would be let in with this token of its own. Changes nothing. */
  acceptsProxyToken(proxyToken: string): CoderResult<boolean>;
  deleteWorkspaceProxy(nameOrId: string): CoderResult<void>;
}

interface NewProvisionerKey {
  readonly name: string;
  readonly tags: Readonly<Record<string, string>>;
}

export interface ClientOptions {
  /** The coderd as messages name it. */
  readonly where: string;
  readonly token: string | undefined;
  readonly clock: Clock;
  readonly send: (request: HttpRequest) => Promise<Answer>;
}

/** coderd demands an icon when a proxy is changed, though not when it is created. */
const FALLBACK_ICON = "/emojis/1f310.png";

/** 1,000 jobs, or as many daemons, with some 30 values each and tags. */
const MAX_QUEUE_VALUES = 50_000;

/** 1,000 daemons, and relays with their logs: all that is in a health report. */
const MAX_REPORT_VALUES = 50_000;

/** The default limit would list the newest 50 and hide the oldest. */
const UNFINISHED = `status=pending,running,canceling&limit=${provisioning.MAX_JOBS}`;

const nothing: Decoder<void> = () => undefined;

const PREBUILDS = "/api/v2/prebuilds/settings";
const prebuildsPaused = object((field) => field("reconciliation_paused", boolean));

const organization = (nameOrId: string) => `/api/v2/organizations/${encodeURIComponent(nameOrId)}`;

export function coderClient(options: ClientOptions): CoderClient {
  const call = caller(options);
  const get = <T>(path: string, decoder: Decoder<T>, answerShape?: AnswerShape) =>
    call("GET", path, { decoder, answerShape });
  const remove = (path: string) => call("DELETE", path, { decoder: nothing });
  const keys = (nameOrId: string) => `${organization(nameOrId)}/provisionerkeys`;
  const proxy = (nameOrId: string) => `/api/v2/workspaceproxies/${encodeURIComponent(nameOrId)}`;
  return {
    buildInfo: () => get("/api/v2/buildinfo", model.buildInfo),
    currentUser: () => get("/api/v2/users/me", model.user),
    tokenEnd: () => {
      const [id = ""] = (options.token ?? "").split("-", 1);
      return get(`/api/v2/users/me/keys/${encodeURIComponent(id)}`, model.tokenEnd);
    },
    deleteToken: (id) => remove(`/api/v2/users/me/keys/${encodeURIComponent(id)}`),
    organizations: () => get("/api/v2/organizations", list(model.organization)),
    organization: (nameOrId) => get(organization(nameOrId), model.organization),
    provisionerKeys: (nameOrId) => get(keys(nameOrId), list(model.provisionerKey)),
    createProvisionerKey: (organizationId, body) =>
      call("POST", keys(organizationId), { decoder: model.createdProvisionerKey, body }),
    deleteProvisionerKey: (organizationId, name) =>
      remove(`${keys(organizationId)}/${encodeURIComponent(name)}`),
    provisionerKeyOf: (secret) => provisionerKeyOf(secret, options),
    unfinishedJobs: (organizationId) =>
      get(`${organization(organizationId)}/provisionerjobs?${UNFINISHED}`, provisioning.provisionerJobs, {
        mostValues: MAX_QUEUE_VALUES,
        // Each job that waits lists every daemon of the past week that could take it.
        emptiedLists: "available_workers",
      }),
    provisionerDaemons: (organizationId) =>
      get(`${organization(organizationId)}/provisionerdaemons?limit=0`, provisioning.provisionerDaemons, {
        mostValues: MAX_QUEUE_VALUES,
        droppedRows: provisioning.offlineDaemons,
      }),
    workspaces: (organizationId, offset) =>
      get(`/api/v2/workspaces?${workspacesFrom(organizationId, offset)}`, workspacePage, {
        // The agents and apps of each workspace, which are most of the answer.
        emptiedLists: "resources",
      }),
    licenses: () => get("/api/v2/licenses", list(model.license)),
    addLicense: (jwt) =>
      call("POST", "/api/v2/licenses", { decoder: model.license, body: { license: jwt }, secret: jwt }),
    entitlements: () => get("/api/v2/entitlements", model.entitlements),
    appearance: () => get("/api/v2/appearance", appearance),
    setAppearance: (next) =>
      call("PUT", "/api/v2/appearance", { decoder: nothing, body: appearanceBody(next) }),
    prebuildsPaused: () => get(PREBUILDS, prebuildsPaused),
    setPrebuildsPaused: (isPaused) =>
      call("PUT", PREBUILDS, { decoder: nothing, body: { reconciliation_paused: isPaused } }),
    health: () => get("/api/v2/debug/health", healthReport, { mostValues: MAX_REPORT_VALUES }),
    workspaceProxies: () => get("/api/v2/workspaceproxies", model.workspaceProxies),
    workspaceProxy: (nameOrId) => get(proxy(nameOrId), model.workspaceProxy),
    createWorkspaceProxy: ({ name, displayName, icon }) =>
      call("POST", "/api/v2/workspaceproxies", {
        decoder: model.registeredProxy,
        body: { name, display_name: displayName, icon },
      }),
    regenerateProxyToken: (id, registration) =>
      call("PATCH", proxy(id), {
        decoder: model.registeredProxy,
        body: { ...proxyUpdate(id, registration), regenerate_token: true },
      }),
    updateWorkspaceProxy: (id, registration) =>
      call("PATCH", proxy(id), { decoder: nothing, body: proxyUpdate(id, registration) }),
    acceptsProxyToken: (proxyToken) => acceptsProxyToken(proxyToken, options),
    deleteWorkspaceProxy: (nameOrId) => remove(proxy(nameOrId)),
  };
}

function workspacesFrom(organizationId: string, offset: number): string {
  const q = encodeURIComponent(`organization:${organizationId}`);
  return `q=${q}&limit=${WORKSPACES_PER_PAGE}&offset=${offset}`;
}

function proxyUpdate(id: string, { name, displayName, icon }: ProxyRegistration) {
  return { id, name, display_name: displayName || name, icon: icon || FALLBACK_ICON };
}

/**
 * Asks, as the proxy, for something without saying what: coderd looks at the token first, and then complains
 * about the request (400), or does not know the route (404, before 2.18).
 */
async function acceptsProxyToken(proxyToken: string, options: ClientOptions): CoderResult<boolean> {
  if (!proxyOfToken(proxyToken)) return succeeded(false);
  const call = caller({ ...options, token: undefined });
  const answer = await call("GET", "/api/v2/workspaceproxies/me/crypto-keys", {
    decoder: nothing,
    headers: { "Coder-External-Proxy-Token": proxyToken },
    secret: proxyToken,
  });
  if (answer.ok || answer.failure.kind === "invalid" || answer.failure.kind === "unsupported")
    return succeeded(true);
  const refused = answer.failure.kind === "forbidden" && answer.failure.why === "unauthenticated";
  return refused ? succeeded(false) : answer;
}

/** A header can't carry anything else, and coderd makes no such keys. */
const POSSIBLE_KEY = /^[\x21-\x7e]{1,256}$/;

/** Asks as the daemon. The last part of the path is ignored, and paths are logged: the secret is in the header alone. */
async function provisionerKeyOf(
  secret: string,
  options: ClientOptions,
): CoderResult<model.ProvisionerKey | undefined> {
  if (!POSSIBLE_KEY.test(secret)) return succeeded(undefined);
  const call = caller({ ...options, token: undefined });
  const answer = await call("GET", "/api/v2/provisionerkeys/mine", {
    decoder: model.provisionerKey,
    headers: { "Coder-Provisioner-Daemon-Key": secret },
    secret,
  });
  if (answer.ok) return answer;
  const { kind, message } = answer.failure;
  // Something else on the way may refuse the request too; only coderd's own word counts.
  const isRefused =
    (kind === "forbidden" || kind === "invalid") && message.includes("provisioner daemon key invalid");
  return isRefused ? succeeded(undefined) : answer;
}

interface Call<T> {
  readonly decoder: Decoder<T>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** A value in the body that no message may quote. */
  readonly secret?: string;
  readonly answerShape?: AnswerShape | undefined;
}

function caller({ where, token, clock, send }: ClientOptions) {
  return async <T>(
    method: HttpRequest["method"],
    path: string,
    { decoder, secret, ...sent }: Call<T>,
  ): CoderResult<T> => {
    const request = `${method} ${path} at ${where}`;
    const secrets = [token, secret].filter((value) => value !== undefined);
    try {
      const answer = await send({ method, path, token, ...sent });
      return classify(answer, decoder, { request, secrets, now: clock.now() });
    } catch (error) {
      if (error instanceof NoAnswer) return failed({ ...transient(request, error.message), why: "noAnswer" });
      throw error;
    }
  };
}
