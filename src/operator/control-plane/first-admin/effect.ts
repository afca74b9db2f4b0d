import { isDeepStrictEqual } from "node:util";
import type { Effect, Needs, Progress, Secret, Stored } from "kube-controller-runtime";
import type { FirstAdminStatus } from "../../../api/v1alpha1/first-admin.ts";
import type { CoderClient } from "../../../coder/client.ts";
import type { CoderFailure } from "../../../coder/failure.ts";
import type { FirstAdmin } from "../../coderd/settings.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { passwordIn, storePassword } from "./password.ts";
import { type FirstAdminFacts, type FirstAdminPlan, planFirstAdmin } from "./plan.ts";

/** One run of the step. */
export interface FirstAdminRun {
  readonly snapshot: Snapshot;
  readonly environment: Environment;
  readonly firstAdmin: FirstAdmin;
  /** Whether the Service leads to our own pods and one is ready, so the password may be sent there. */
  readonly isServing: boolean;
  readonly isCheckDue: boolean;
  /** Without a token, because operator access may be disabled. */
  readonly client: Pick<CoderClient, "hasUsers" | "createFirstUser" | "acceptsPassword">;
}

export type FirstAdminState = Pick<FirstAdminFacts, "recorded" | "hasUsers" | "isVerified"> & {
  /** The Secret for a generated password. */
  readonly present: Stored<Secret> | undefined;
  readonly isFresh: boolean;
};

type Step = Promise<Progress<FirstAdminState, CoderFailure>>;

/** coderd accepts a first user once, and stores only a hash of the password. */
const needs: Readonly<Record<FirstAdminPlan["do"], Needs>> = {
  keep: "nothing",
  wait: "nothing",
  awaitPassword: "nothing",
  check: { external: true },
  verify: { external: true },
  accept: {},
  storePassword: { irreversible: true },
  create: { external: true, irreversible: true },
};

/**
 * The first user of coderd. The Secret with the password and the intention in the status are written before coderd gets the
 * password. After a crash or a lost answer, the password shows whether the operator created the user.
 */
export function firstAdminEffect(run: FirstAdminRun): Effect<FirstAdminState, FirstAdminPlan, CoderFailure> {
  const { firstAdmin: wanted, isServing, isCheckDue } = run;
  return {
    plan: ({ present, ...state }) =>
      planFirstAdmin({ ...state, wanted, isServing, isCheckDue, password: passwordIn(wanted, present, run) }),
    needs: (plan) => needs[plan.do],
    refresh: (state) => refresh(state, run),
    act: (plan, state) => act(plan, state, run),
  };
}

async function act(plan: FirstAdminPlan, state: FirstAdminState, run: FirstAdminRun): Step {
  switch (plan.do) {
    case "keep":
    case "wait":
    case "awaitPassword":
      return { next: state };
    case "check": {
      const seen = await run.client.hasUsers();
      return seen.ok ? { next: { ...state, hasUsers: seen.value } } : { failed: seen.failure };
    }
    case "storePassword": {
      const stored = await storePassword(run.firstAdmin, state.present, run);
      return { next: { ...state, present: stored ?? state.present, isFresh: stored !== undefined } };
    }
    case "create":
      return create(plan.password, state, run);
    case "verify": {
      const { email } = run.firstAdmin;
      const verified = await run.client.acceptsPassword({ email, password: plan.password });
      return verified.ok ? { next: { ...state, isVerified: verified.value } } : { failed: verified.failure };
    }
    case "accept":
      return record(plan.state, state, run);
  }
}

/** Caches may lag behind another process. If that process recorded anything, coderd is asked again. */
async function refresh(state: FirstAdminState, { environment, firstAdmin }: FirstAdminRun): Step {
  const { name } = firstAdmin.password;
  const fresh = await environment.own.readUncached(firstAdmin.isGenerated ? [name] : []);
  if (!fresh) return { overtaken: true };
  const recorded = fresh.object.status?.firstAdmin;
  const hasUsers = isDeepStrictEqual(recorded, state.recorded) ? state.hasUsers : undefined;
  const [present] = fresh.secrets;
  return { next: { ...state, present, recorded, hasUsers, isFresh: true } };
}

async function create(password: string, state: FirstAdminState, run: FirstAdminRun): Step {
  const { email, username, name } = run.firstAdmin;
  const claimed = await record("Creating", state, run);
  if (!("next" in claimed)) return claimed;
  const made = await run.client.createFirstUser({ email, username, name, password });
  if (made.ok) return record("Created", { ...claimed.next, hasUsers: true }, run);
  const { failure } = made;
  // An earlier request may have created the user.
  if (failure.kind === "duplicate") return { next: { ...claimed.next, hasUsers: true } };
  // Unless the outcome of the request is unknown, the user was not created.
  if (failure.kind !== "transient") await run.environment.own.record(() => ({ firstAdmin: state.recorded }));
  return { failed: failure };
}

async function record(
  to: FirstAdminStatus["state"],
  state: FirstAdminState,
  { environment, firstAdmin }: FirstAdminRun,
): Step {
  const { email, username, password } = firstAdmin;
  const location = to === "UsersExist" ? {} : { passwordSecretRef: { ...password } };
  const recorded = { state: to, email, username, ...location };
  const object = await environment.own.record(() => ({ firstAdmin: recorded }));
  return object ? { next: { ...state, recorded } } : { overtaken: true };
}
