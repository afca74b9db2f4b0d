import { randomBytes, randomUUID } from "node:crypto";
import type { Tags } from "../../src/coder/provisioning.ts";
import { daemonTags } from "../../src/coder/tags.ts";
import { type Accounts, StaticAccounts } from "./accounts.ts";
import { PLAIN_APPEARANCE } from "./appearance.ts";
import { entitlementsOf } from "./entitlements.ts";
import { Faults, matches } from "./faults.ts";
import { ReplicaHealth } from "./health.ts";
import { Jobs } from "./jobs.ts";
import { readLicense, type StoredLicense } from "./licenses.ts";
import { type Traits, traitsOf } from "./traits.ts";
import type { SimulatedWorkspace } from "./workspaces.ts";

export interface Organization {
  readonly id: string;
  readonly name: string;
  readonly display_name: string;
  readonly icon: string;
  readonly description: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly is_default: boolean;
}

export interface ProvisionerKey {
  readonly id: string;
  readonly created_at: string;
  readonly organization: string;
  readonly name: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly plaintext: string;
}

export interface Daemon {
  readonly id: string;
  readonly name: string;
  readonly key: ProvisionerKey;
  readonly connectedAt: string;
  readonly tags: Tags;
  version: string;
  /** When its pod died without a word. */
  silentSince?: number;
}

export interface SimulatedProxy {
  readonly id: string;
  name: string;
  displayName: string;
  icon: string;
  token: string;
  status: "ok" | "unreachable" | "unhealthy" | "unregistered";
  errors: string[];
  readonly createdAt: string;
  updatedAt: string;
}

export interface RecordedCall {
  readonly request: string;
  readonly at: number;
  readonly user: string | undefined;
}

export interface DeploymentOptions {
  /** An open-source build has none of the licensed routes. */
  readonly openSource?: boolean;
  readonly version?: string;
  readonly accounts?: Accounts;
  readonly now?: () => number;
  /** Per user; unlimited when left out, as on the coderd of the recordings. */
  readonly requestsPerMinute?: number;
  /** Daemons within coderd, of which only its health takes notice here. */
  readonly builtInDaemons?: number;
  /** Names of organizations besides the default one. */
  readonly organizations?: readonly string[];
  /** Its access URL, to which it sends whoever asks it by another name: CODER_REDIRECT_TO_ACCESS_URL. */
  readonly redirectsTo?: string;
}

/** The version that it plays unless told otherwise. */
const NEWEST = "v2.36.1";

/** The state of one simulated coderd, and what tests may ask of it or do to it. */
export class CoderdDeployment {
  readonly id = randomUUID();
  readonly openSource: boolean;
  version: string;
  readonly accounts: Accounts;
  readonly now: () => number;
  readonly requestsPerMinute: number | undefined;
  readonly builtInDaemons: number;
  readonly organizations: readonly Organization[];
  readonly redirectsTo: string | undefined;
  readonly faults = new Faults();
  readonly calls: RecordedCall[] = [];
  keys: ProvisionerKey[] = [];
  /** The plaintext of every key that there ever was: what must not show anywhere. */
  readonly everyKey: string[] = [];
  /** The token of every workspace proxy that there ever was. */
  readonly everyProxyToken: string[] = [];
  daemons: Daemon[] = [];
  readonly jobs: Jobs;
  workspaces: SimulatedWorkspace[] = [];
  licenses: StoredLicense[] = [];
  proxies: SimulatedProxy[] = [];
  appearance = PLAIN_APPEARANCE;
  /** Absent while nobody has ever set it. */
  arePrebuildsPaused: boolean | undefined;
  lastRefresh: number;
  /** Users that take a seat, workspaces built with agents of its own, and users of AI. */
  readonly usage = { users: 1, managedAgents: 0, aiUsers: 0 };
  /** The replicas, each with its own checks; requests for health go to one after the other. */
  readonly health: ReplicaHealth[] = [new ReplicaHealth()];
  #licenseSequence = 0;

  constructor(options: DeploymentOptions = {}) {
    this.openSource = options.openSource ?? false;
    this.version = options.version ?? NEWEST;
    this.accounts = options.accounts ?? new StaticAccounts();
    this.now = options.now ?? Date.now;
    this.jobs = new Jobs(this.now);
    this.requestsPerMinute = options.requestsPerMinute;
    this.builtInDaemons = options.builtInDaemons ?? 3;
    this.redirectsTo = options.redirectsTo;
    this.lastRefresh = this.now();
    const others = (options.organizations ?? []).map((name) => this.#organization(name, false));
    this.organizations = [this.#organization("coder", true), ...others];
  }

  /** How its version answers. */
  get traits(): Traits {
    return traitsOf(this.version);
  }

  get timestamp(): string {
    return new Date(this.now()).toISOString();
  }

  /** How many requests were made, all or those whose `METHOD /path` matches. */
  count(request?: string | RegExp): number {
    return this.calls.filter((call) => matches(request, call.request)).length;
  }

  findOrganization(nameOrId: string): Organization | undefined {
    if (nameOrId === "default") return this.organizations[0];
    return this.organizations.find(({ id, name }) => id === nameOrId || name === nameOrId);
  }

  entitlements() {
    const { lastRefresh: refreshedAt, usage, traits } = this;
    return entitlementsOf(this.licenses, { now: this.now(), refreshedAt, usage, traits });
  }

  allows(feature: string): boolean {
    return this.entitlements().features[feature]?.entitlement !== "not_entitled";
  }

  /** Takes a license; a duplicate uses up a number too, as a database sequence does. */
  addLicense(jwt: string): StoredLicense | "invalid" | "duplicate" {
    const claims = readLicense(jwt);
    if (!claims) return "invalid";
    const id = ++this.#licenseSequence;
    if (this.licenses.some((license) => license.jwt === jwt)) return "duplicate";
    const license = { id, uuid: claims.jti, uploaded_at: this.timestamp, claims, jwt };
    this.licenses.push(license);
    this.lastRefresh = this.now();
    return license;
  }

  createKey(organization: string, name: string, tags: Record<string, string>): ProvisionerKey {
    const key = {
      id: randomUUID(),
      created_at: this.timestamp,
      organization,
      name: name.toLowerCase(),
      tags,
      plaintext: randomBytes(32).toString("base64url"),
    };
    this.keys.push(key);
    this.everyKey.push(key.plaintext);
    return key;
  }

  /** Deleting a key takes its daemons off the list at once. */
  deleteKey(key: ProvisionerKey): void {
    this.keys = this.keys.filter(({ id }) => id !== key.id);
    this.daemons = this.daemons.filter((daemon) => daemon.key.id !== key.id);
  }

  /** The key a daemon would be let in with, if it would. */
  acceptedKey(plaintext: string): ProvisionerKey | undefined {
    return this.keys.find((key) => key.plaintext === plaintext);
  }

  /** What a daemon does when it starts: joins, or is turned away. */
  connectDaemon(name: string, plaintext: string): Daemon | undefined {
    const key = this.acceptedKey(plaintext);
    if (!key) return undefined;
    const daemon: Daemon = {
      id: randomUUID(),
      name,
      key,
      connectedAt: this.timestamp,
      tags: daemonTags(key.tags),
      version: this.version,
    };
    this.daemons.push(daemon);
    return daemon;
  }

  acceptedProxy(token: string): SimulatedProxy | undefined {
    return this.proxies.find((proxy) => proxy.token === token);
  }

  #organization(name: string, isDefault: boolean): Organization {
    return {
      id: randomUUID(),
      name,
      display_name: name.charAt(0).toUpperCase() + name.slice(1),
      icon: "",
      description: isDefault ? "Builtin default organization." : "",
      created_at: this.timestamp,
      updated_at: this.timestamp,
      is_default: isDefault,
    };
  }
}
