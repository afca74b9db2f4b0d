import { type Appearance, appearance, appearanceBody } from "./appearance.ts";
import { type ClientOptions, type CoderResult, caller, nothing } from "./call.ts";
import { boolean, type Decoder, list, object } from "./decode.ts";
import { acceptsPassword, createFirstUser, type FirstUser, hasUsers, userNamed } from "./first-user.ts";
import { type HealthReport, healthReport } from "./health.ts";
import type { AnswerShape } from "./http/answer.ts";
import { type InsideCalls, insideCalls } from "./inside/calls.ts";
import * as model from "./model.ts";
import * as provisioning from "./provisioning.ts";
import { proxyOfToken } from "./proxy-token.ts";
import { succeeded } from "./result.ts";
import { WORKSPACES_PER_PAGE, type WorkspacePage, workspacePage } from "./workspaces.ts";

interface ProxyRegistration {
  readonly name: string;
  readonly displayName: string;
  readonly icon: string;
}

/**
 * API of one coderd with one token. Remote failures are return values; a method throws only on a programming
 * error. The client does not retry; the caller's queue does.
 */
export interface CoderClient extends InsideCalls {
  buildInfo(): CoderResult<model.BuildInfo>;
  /** Returns the user of the token. Use it to check a token, because entitlements need no authentication. */
  currentUser(): CoderResult<model.User>;
  /** Returns a user by username, or undefined if there is none. */
  user(username: string): CoderResult<model.User | undefined>;
  /** Whether coderd has users, not counting system users. Needs no token. */
  hasUsers(): CoderResult<boolean>;
  /** Creates an owner if coderd has no users; otherwise fails as `duplicate`. Needs no token. */
  createFirstUser(user: FirstUser): CoderResult<void>;
  /** Whether a user with this email address has this password. Logs out again. Needs no token. */
  acceptsPassword(user: Pick<FirstUser, "email" | "password">): CoderResult<boolean>;
  /** Expiration of the token in milliseconds since the epoch. */
  tokenEnd(): CoderResult<number>;
  /** Deletes a token of the same user by its ID, the part before the dash. */
  deleteToken(id: string): CoderResult<void>;
  organizations(): CoderResult<readonly model.Organization[]>;
  /** By name, ID, or the alias `default`. */
  organization(nameOrId: string): CoderResult<model.Organization>;
  /** By the name or ID of an organization, or the alias `default`. */
  provisionerKeys(nameOrId: string): CoderResult<readonly model.ProvisionerKey[]>;
  /** Returns the plaintext of the key, which coderd does not return again. coderd lowercases the name. */
  createProvisionerKey(organizationId: string, key: NewProvisionerKey): CoderResult<string>;
  deleteProvisionerKey(organizationId: string, name: string): CoderResult<void>;
  /** Returns the key that this secret authenticates, or undefined if coderd rejects the secret. */
  provisionerKeyOf(secret: string): CoderResult<model.ProvisionerKey | undefined>;
  /**
   * Returns up to 1,000 unfinished jobs of an organization, newest first. Also fails with `notFound` if the
   * token is not permitted to list them.
   */
  unfinishedJobs(organizationId: string): CoderResult<readonly provisioning.ProvisionerJob[]>;
  /** Returns up to 2,000 daemons of an organization that are not offline. */
  provisionerDaemons(organizationId: string): CoderResult<readonly provisioning.ProvisionerDaemon[]>;
  /**
   * Returns up to 100 workspaces of an organization, starting at `offset`. Empty if the token is not
   * permitted to read workspaces.
   */
  workspaces(organizationId: string, offset: number): CoderResult<WorkspacePage>;
  /**
   * Empty if the token is not permitted to read licenses, so an empty list is conclusive only for the owner
   * role.
   */
  licenses(): CoderResult<readonly model.License[]>;
  addLicense(jwt: string): CoderResult<model.License>;
  entitlements(): CoderResult<model.Entitlements>;
  /** Empty without the feature `appearance`, although coderd still stores the settings. */
  appearance(): CoderResult<Appearance>;
  /** Replaces name, logo and all banners. An owner can do this without the feature. */
  setAppearance(appearance: Appearance): CoderResult<void>;
  /** Whether coderd has stopped creating and deleting prebuilds. */
  prebuildsPaused(): CoderResult<boolean>;
  setPrebuildsPaused(isPaused: boolean): CoderResult<void>;
  /**
   * Returns the health report of the replica that responds. Creating it can take up to 30 s; coderd caches it
   * for ten minutes.
   */
  health(): CoderResult<HealthReport>;
  workspaceProxies(): CoderResult<readonly model.WorkspaceProxy[]>;
  workspaceProxy(nameOrId: string): CoderResult<model.WorkspaceProxy>;
  createWorkspaceProxy(proxy: ProxyRegistration): CoderResult<model.RegisteredProxy>;
  /** Creates a new token and invalidates the old one. Also sets the given name, display name and icon. */
  regenerateProxyToken(id: string, proxy: ProxyRegistration): CoderResult<model.RegisteredProxy>;
  /** Sets the given name, display name and icon. Keeps the token. */
  updateWorkspaceProxy(id: string, proxy: ProxyRegistration): CoderResult<void>;
  /** Whether coderd accepts this token of the proxy. Has no side effects. */
  acceptsProxyToken(proxyToken: string): CoderResult<boolean>;
  deleteWorkspaceProxy(nameOrId: string): CoderResult<void>;
}

interface NewProvisionerKey {
  readonly name: string;
  readonly tags: Readonly<Record<string, string>>;
}

/** coderd requires an icon to update a proxy, but not to create one. */
const FALLBACK_ICON = "/emojis/1f310.png";

/** 1,000 jobs or daemons with about 30 values each, plus tags. */
const MAX_QUEUE_VALUES = 50_000;

/** Enough for a health report with 1,000 daemons and the logs of relays. */
const MAX_REPORT_VALUES = 50_000;

/** With the default limit of 50, the oldest jobs would be missing. */
const UNFINISHED = `status=pending,running,canceling&limit=${provisioning.MAX_JOBS}`;

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
    ...insideCalls(call),
    buildInfo: () => get("/api/v2/buildinfo", model.buildInfo),
    currentUser: () => get("/api/v2/users/me", model.user),
    user: (username) => userNamed(username, get),
    hasUsers: () => hasUsers(options),
    createFirstUser: (user) => createFirstUser(user, options),
    acceptsPassword: (user) => acceptsPassword(user, options),
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
        maxValues: MAX_QUEUE_VALUES,
        // Each waiting job lists every matching daemon of the past week.
        emptiedLists: "available_workers",
      }),
    provisionerDaemons: (organizationId) =>
      get(`${organization(organizationId)}/provisionerdaemons?limit=0`, provisioning.provisionerDaemons, {
        maxValues: MAX_QUEUE_VALUES,
        droppedRows: provisioning.offlineDaemons,
      }),
    workspaces: (organizationId, offset) =>
      get(`/api/v2/workspaces?${workspacesFrom(organizationId, offset)}`, workspacePage, {
        // The agents and apps of each workspace are most of the response.
        emptiedLists: "resources",
      }),
    licenses: () => get("/api/v2/licenses", list(model.license)),
    addLicense: (jwt) =>
      call("POST", "/api/v2/licenses", { decoder: model.license, body: { license: jwt }, secrets: [jwt] }),
    entitlements: () => get("/api/v2/entitlements", model.entitlements),
    appearance: () => get("/api/v2/appearance", appearance),
    setAppearance: (next) =>
      call("PUT", "/api/v2/appearance", { decoder: nothing, body: appearanceBody(next) }),
    prebuildsPaused: () => get(PREBUILDS, prebuildsPaused),
    setPrebuildsPaused: (isPaused) =>
      call("PUT", PREBUILDS, { decoder: nothing, body: { reconciliation_paused: isPaused } }),
    health: () => get("/api/v2/debug/health", healthReport, { maxValues: MAX_REPORT_VALUES }),
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
 * Sends a request without parameters as the proxy. coderd checks the token first, and then rejects the
 * request (400) or does not have the route (404, before 2.18).
 */
async function acceptsProxyToken(proxyToken: string, options: ClientOptions): CoderResult<boolean> {
  if (!proxyOfToken(proxyToken)) return succeeded(false);
  const call = caller({ ...options, token: undefined });
  const answer = await call("GET", "/api/v2/workspaceproxies/me/crypto-keys", {
    decoder: nothing,
    headers: { "Coder-External-Proxy-Token": proxyToken },
    secrets: [proxyToken],
  });
  if (answer.ok || answer.failure.kind === "invalid" || answer.failure.kind === "unsupported")
    return succeeded(true);
  const refused = answer.failure.kind === "forbidden" && answer.failure.why === "unauthenticated";
  return refused ? succeeded(false) : answer;
}

/** Header values allow no other characters, and coderd creates no such keys. */
const POSSIBLE_KEY = /^[\x21-\x7e]{1,256}$/;

/**
 * Sends a request as the daemon. coderd ignores the last path segment. Paths are logged, so the secret is
 * only in the header.
 */
async function provisionerKeyOf(
  secret: string,
  options: ClientOptions,
): CoderResult<model.ProvisionerKey | undefined> {
  if (!POSSIBLE_KEY.test(secret)) return succeeded(undefined);
  const call = caller({ ...options, token: undefined });
  const answer = await call("GET", "/api/v2/provisionerkeys/mine", {
    decoder: model.provisionerKey,
    headers: { "Coder-Provisioner-Daemon-Key": secret },
    secrets: [secret],
  });
  if (answer.ok) return answer;
  const { kind, message } = answer.failure;
  // An intermediary may also reject the request; only a response of coderd counts.
  const isRefused =
    (kind === "forbidden" || kind === "invalid") && message.includes("provisioner daemon key invalid");
  return isRefused ? succeeded(undefined) : answer;
}
