import { randomUUID } from "node:crypto";

/** A user of coderd. */
export interface Person {
  readonly id: string;
  readonly username: string;
  readonly email: string;
  readonly name: string;
  readonly owner: boolean;
}

export interface SimulatedGroup {
  readonly id: string;
  readonly organization: string;
  name: string;
  displayName: string;
  avatarURL: string;
  quota: number;
  /** Ids of people. */
  members: readonly string[];
}

export interface SimulatedRole {
  readonly organization: string;
  readonly name: string;
  displayName: string;
  permissions: readonly object[];
}

type Settings = Readonly<Record<string, unknown>>;

/** The group of everybody in an organization, which has the organization's id. */
const EVERYONE = "Everyone";

const NO_SYNC = { field: "", mapping: {} };

/** State inside one coderd: users, members, groups, custom roles, and settings of sign-on. */
export class InsideState {
  people: readonly Person[] = [];
  groups: readonly SimulatedGroup[] = [];
  roles: readonly SimulatedRole[] = [];
  organizationSync: Settings = { ...NO_SYNC, organization_assign_default: true };
  readonly #members = new Map<string, Set<string>>();
  readonly #closed = new Set<string>();
  readonly #groupSync = new Map<string, Settings>();
  readonly #roleSync = new Map<string, Settings>();

  constructor(organizations: readonly { readonly id: string }[]) {
    for (const organization of organizations) this.open(organization);
  }

  open({ id }: { readonly id: string }): void {
    this.#members.set(id, new Set());
    const quiet = { displayName: "", avatarURL: "", quota: 0, members: [] };
    this.groups = [...this.groups, { id, organization: id, name: EVERYONE, ...quiet }];
  }

  /** Whether there was an organization of that id. */
  isClosed(id: string): boolean {
    return this.#closed.has(id);
  }

  close(id: string): void {
    this.#closed.add(id);
    this.#members.delete(id);
    this.groups = this.groups.filter(({ organization }) => organization !== id);
    this.roles = this.roles.filter(({ organization }) => organization !== id);
  }

  /** Adds people to an organization, by their user names; those who are new come to be. */
  join(organizationId: string, ...usernames: readonly string[]): readonly Person[] {
    const known = new Map(this.people.map((person) => [person.username, person]));
    const joining = usernames.map(
      (username) =>
        known.get(username) ?? {
          id: randomUUID(),
          username,
          email: `${username}@example.com`,
          name: "",
          owner: false,
        },
    );
    this.enroll(organizationId, ...joining);
    return joining;
  }

  enroll(organizationId: string, ...joining: readonly Person[]): void {
    const added = joining.filter(({ id }) => !this.people.some((person) => person.id === id));
    this.people = [...this.people, ...added];
    const members = this.#members.get(organizationId);
    for (const { id } of joining) members?.add(id);
  }

  leave(organizationId: string, userId: string): void {
    this.#members.get(organizationId)?.delete(userId);
  }

  isMember(organizationId: string, userId: string): boolean {
    return this.#members.get(organizationId)?.has(userId) ?? false;
  }

  membersOf(organizationId: string): readonly Person[] {
    const members = this.#members.get(organizationId);
    return this.people.filter(({ id }) => members?.has(id));
  }

  addGroup(organization: string, name: string, more: Partial<SimulatedGroup> = {}): SimulatedGroup {
    const quiet = { displayName: "", avatarURL: "", quota: 0, members: [] };
    const group = { id: randomUUID(), organization, name, ...quiet, ...more };
    this.groups = [...this.groups, group];
    return group;
  }

  group(name: string): SimulatedGroup | undefined {
    return this.groups.find((group) => group.name === name);
  }

  /** The user names of those in a group. */
  namesIn(group: SimulatedGroup | undefined): readonly string[] {
    const names = new Map(this.people.map(({ id, username }) => [id, username]));
    return (group?.members ?? []).map((id) => names.get(id) ?? id).toSorted();
  }

  groupSync(organization: string): Settings {
    return (
      this.#groupSync.get(organization) ?? {
        ...NO_SYNC,
        regex_filter: null,
        auto_create_missing_groups: false,
      }
    );
  }

  setGroupSync(organization: string, settings: Settings): void {
    this.#groupSync.set(organization, settings);
  }

  roleSync(organization: string): Settings {
    return this.#roleSync.get(organization) ?? NO_SYNC;
  }

  setRoleSync(organization: string, settings: Settings): void {
    this.#roleSync.set(organization, settings);
  }
}
