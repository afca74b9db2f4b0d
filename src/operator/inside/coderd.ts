import type { CoderClient } from "../../coder/client.ts";
import { allows } from "../../coder/entitlements.ts";
import type { CoderFailure } from "../../coder/failure.ts";
import type { Group, Member } from "../../coder/inside/groups.ts";
import type { OrganizationEntity, OrganizationRole } from "../../coder/inside/organizations.ts";
import type { GroupSync, OrganizationSync, RoleSync } from "../../coder/inside/sign-on.ts";
import type { Entitlements } from "../../coder/model.ts";
import { failed, type Result, succeeded } from "../../coder/result.ts";
import { reasonOf, withAdvice } from "../coderd/failure.ts";
import type { SharedAnswers } from "../coderd/shared-answers.ts";

/** Why something can't be done now: reason and message of a condition, and when to try again. */
export interface Obstacle {
  readonly reason: string;
  readonly message: string;
  readonly retryInMs: number;
}

/** Something that coderd lists, which all objects of a control plane share. */
export interface Collection<T> {
  readonly what: string;
  readonly ask: (client: CoderClient) => Promise<Result<T, CoderFailure>>;
}

/** The collections of a coderd, those of an organization by its id. */
export const collections = {
  entitlements: collection<Entitlements>("entitlements", (client) => client.entitlements()),
  organizations: collection<readonly OrganizationEntity[]>("organizations", (client) =>
    client.organizationEntities(),
  ),
  organizationSync: collection<OrganizationSync>("organization sync", (client) => client.organizationSync()),
  members: (id: string) =>
    collection<readonly Member[]>(`members of ${id}`, (client) => client.organizationMembers(id)),
  roles: (id: string) =>
    collection<readonly OrganizationRole[]>(`roles of ${id}`, (client) => client.organizationRoles(id)),
  groups: (id: string) => collection<readonly Group[]>(`groups of ${id}`, (client) => client.groups(id)),
  groupSync: (id: string) => collection<GroupSync>(`group sync of ${id}`, (client) => client.groupSync(id)),
  roleSync: (id: string) => collection<RoleSync>(`role sync of ${id}`, (client) => client.roleSync(id)),
} as const;

function collection<T>(what: string, ask: Collection<T>["ask"]): Collection<T> {
  return { what, ask };
}

/** So old an answer may be: ten reads of a collection in ten minutes are the most. */
const MAX_AGE_MS = 60_000;

/** The same where an answer has to be from now. Unlike 0 it leaves a coderd alone that has just failed. */
export const NOW_MS = 1;

/** An answer that coderd has just contradicted serves no longer than for those that were contradicted at once. */
export const OUTDATED_MS = 1_000;

/** How soon something that does not exist at coderd is looked for again. */
export const MISSING_RETRY_MS = 60_000;

const ENTITLEMENT_RETRY_MS = 2 * 60_000;

/** Whom to ask, as whom. */
export interface Target {
  readonly client: CoderClient;
  readonly url: string;
  readonly token: string;
  /** Differs when the license may have changed. */
  readonly license: string;
}

/** Reads the entities of one coderd, from answers that all objects of its control plane share. */
export class Inside {
  readonly client: CoderClient;
  readonly #target: Target;
  readonly #answers: SharedAnswers;
  readonly #maxAgeMs: number;

  constructor(target: Target, answers: SharedAnswers, maxAgeMs = MAX_AGE_MS) {
    this.client = target.client;
    this.#target = target;
    this.#answers = answers;
    this.#maxAgeMs = maxAgeMs;
  }

  /** The same coderd, without answers that it may just have contradicted. */
  afterContradiction(): Inside {
    return new Inside(this.#target, this.#answers, OUTDATED_MS);
  }

  async read<T>(wanted: Collection<T>, maxAgeMs = this.#maxAgeMs): Promise<Result<T, Obstacle>> {
    const observation = await this.#answers.ask({
      ...this.#subject(wanted),
      maxAgeMs,
      ask: () => wanted.ask(this.client),
    });
    if (observation.seen) return succeeded(observation.value);
    return failed(obstacleOf(observation.failure, observation.retryInMs));
  }

  /** Tells all that share an answer what this process has just changed. `update` must change nothing the second time. */
  changed<T>(shown: Collection<T>, update: (value: T) => T): void {
    this.#answers.update(this.#subject(shown), update);
  }

  /** Fails while the license does not include a feature, by coderd's name for it. */
  async requires(feature: string): Promise<Result<void, Obstacle>> {
    const { what, ask } = collections.entitlements;
    const entitlements = await this.read({ what: `${what} ${this.#target.license}`, ask });
    if (!entitlements.ok) return entitlements;
    if (allows(entitlements.value, feature)) return succeeded(undefined);
    const message = `The license of coderd does not include the feature ${feature}; add a license that does.`;
    return failed({ reason: "NotEntitled", message, retryInMs: ENTITLEMENT_RETRY_MS });
  }

  #subject({ what }: Pick<Collection<unknown>, "what">) {
    const { url, token } = this.#target;
    return { url, token, what };
  }
}

export function obstacleOf(failure: CoderFailure, retryInMs: number): Obstacle {
  return { reason: reasonOf(failure), message: withAdvice(failure), retryInMs };
}

/**
 * The organization with the id on record, which survives a new name. Otherwise, that of the name, whatever its case;
 * `default` is the default one, however that is called.
 */
export async function findOrganization(
  { id, name }: { readonly id: string | undefined; readonly name: string },
  inside: Inside,
): Promise<Result<OrganizationEntity, Obstacle>> {
  const organizations = await inside.read(collections.organizations);
  if (!organizations.ok) return organizations;
  const lower = name.toLowerCase();
  const recorded = organizations.value.find((each) => each.id === id);
  const isNamed = ({ name, isDefault }: OrganizationEntity) =>
    lower === "default" ? isDefault : name.toLowerCase() === lower;
  const found = recorded ?? organizations.value.find(isNamed);
  if (found) return succeeded(found);
  const message = `Organization "${name}" does not exist in coderd; create it, or create another object for another organization.`;
  return failed({ reason: "OrganizationMissing", message, retryInMs: MISSING_RETRY_MS });
}
