import { randomBytes, randomUUID } from "node:crypto";
import type { Tags } from "../../src/coder/provisioning.ts";
import { daemonTags } from "../../src/coder/tags.ts";
import { type Accounts, StaticAccounts } from "./accounts.ts";
import { PLAIN_APPEARANCE } from "./appearance.ts";
import { entitlementsOf } from "./entitlements.ts";
import { Faults, matches } from "./faults.ts";
import { ReplicaHealth } from "./health.ts";
import { InsideState } from "./inside.ts";
import { Jobs } from "./jobs.ts";
import { readLicense, type StoredLicense } from "./licenses.ts";
import { People } from "./people.ts";
import { type Traits, traitsOf } from "./traits.ts";
import type { SimulatedWorkspace } from "./workspaces.ts";

export interface Organization {
  readonly id: string;
  name: string;
  display_name: string;
  icon: string;
  description: string;
  readonly created_at: string;
  updated_at: string;
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
  /** When its pod died without disconnecting. */
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
  /** An open-source build does not have the licensed routes. */
  readonly openSource?: boolean;
  readonly version?: string;
  readonly accounts?: Accounts;
  readonly now?: () => number;
  /** Per user; defaults to unlimited, like the recorded coderd. */
  readonly requestsPerMinute?: number;
  /** Built-in daemons of coderd, which only affect its health here. */
  readonly builtInDaemons?: number;
  /** Names of organizations besides the default one. */
  readonly organizations?: readonly string[];
  /** The access URL to which it redirects requests for other hosts: CODER_REDIRECT_TO_ACCESS_URL. */
  readonly redirectsTo?: string;
  /** Whether its database is new: there are no users. */
  readonly isEmpty?: boolean;
}

/** The default version. */
const NEWEST = "v2.36.1";

/** The state of a simulated coderd, and operations for tests. */
export class CoderdDeployment {
  readonly id = randomUUID();
  readonly openSource: boolean;
  version: string;
  readonly accounts: Accounts;
  readonly now: () => number;
  readonly requestsPerMinute: number | undefined;
  readonly builtInDaemons: number;
  organizations: readonly Organization[];
  readonly inside: InsideState;
  readonly redirectsTo: string | undefined;
  readonly people: People;
  readonly faults = new Faults();
  readonly calls: RecordedCall[] = [];
  keys: ProvisionerKey[] = [];
  /** The plaintext of every key so far, which must not appear anywhere. */
  readonly everyKey: string[] = [];
  /** The token of every workspace proxy so far. */
  readonly everyProxyToken: string[] = [];
  daemons: Daemon[] = [];
  readonly jobs: Jobs;
  workspaces: SimulatedWorkspace[] = [];
  licenses: StoredLicense[] = [];
  proxies: SimulatedProxy[] = [];
  appearance = PLAIN_APPEARANCE;
  /** Absent until it is set. */
  arePrebuildsPaused: boolean | undefined;
  lastRefresh: number;
  /** Users that take a seat, workspaces built with their own agents, and AI users. */
  readonly usage = { users: 1, managedAgents: 0, aiUsers: 0 };
  /** The replicas, each with its own checks; requests for health alternate between them. */
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
    this.people = new People({ isEmpty: options.isEmpty });
    this.lastRefresh = this.now();
    const others = (options.organizations ?? []).map((name) => this.#organization(name, false));
    this.organizations = [this.#organization("coder", true), ...others];
    this.inside = new InsideState(this.organizations);
  }

  /** The responses of its version. */
  get traits(): Traits {
    return traitsOf(this.version);
  }

  get timestamp(): string {
    return new Date(this.now()).toISOString();
  }

  /** The number of requests, or of those whose `METHOD /path` matches. */
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

  /** Adds a license; a duplicate increments the ID too, like a database sequence. */
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

  /** Deletes a key and the daemons that use it. */
  deleteKey(key: ProvisionerKey): void {
    this.keys = this.keys.filter(({ id }) => id !== key.id);
    this.daemons = this.daemons.filter((daemon) => daemon.key.id !== key.id);
  }

  /** The key that a daemon would be accepted with. */
  acceptedKey(plaintext: string): ProvisionerKey | undefined {
    return this.keys.find((key) => key.plaintext === plaintext);
  }

  /** Simulates the start of a daemon: it joins or is rejected. */
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

  /** Makes an organization, with the group that everybody in it is in. */
  addOrganization(name: string, more: Partial<Organization> = {}): Organization {
    const organization = { ...this.#organization(name, false), ...more };
    this.organizations = [...this.organizations, organization];
    this.inside.open(organization);
    return organization;
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
