import { isDeepStrictEqual } from "node:util";
import {
  type Changes,
  type Effect,
  type Needs,
  type Progress,
  Secret,
  type Stored,
} from "kube-controller-runtime";
import type { CoderWorkspaceProxy } from "../../../api/v1alpha1/kinds.ts";
import type { WorkspaceProxyStatus } from "../../../api/v1alpha1/workspace-proxy.ts";
import type { CoderFailure } from "../../../coder/failure.ts";
import type { RegisteredProxy, WorkspaceProxy } from "../../../coder/model.ts";
import { succeeded } from "../../../coder/result.ts";
import { readSecretValue } from "../../secret-value.ts";
import { isSameService } from "../../workload/exposure/service.ts";
import type { Environment, Snapshot } from "../observe.ts";
import type { ProxySession } from "../session.ts";
import type { Registration } from "../spec.ts";
import { planRegistration, type RegistrationPlan } from "./plan.ts";
import { tokenSecret } from "./token-secret.ts";

/** One attempt to bring the registration to the desired state. */
export interface RegistrationRun {
  readonly snapshot: Snapshot;
  readonly environment: Environment;
  readonly registration: Registration;
  readonly session: ProxySession;
  /** The proxy from a recent response of coderd, while it is valid. */
  readonly recent: WorkspaceProxy | undefined;
}

/** State of the registration in a reconcile. */
export interface RegistrationState {
  readonly object: Stored<CoderWorkspaceProxy>;
  readonly keptToken: string | undefined;
  /** Proxies in coderd, and whether coderd accepts the token. */
  readonly coderd: { readonly records: readonly WorkspaceProxy[]; readonly accepted: boolean } | undefined;
  readonly isFresh: boolean;
}

type Step = Promise<Progress<RegistrationState, CoderFailure>>;
type Plan<Do extends RegistrationPlan["do"]> = Extract<RegistrationPlan, { do: Do }>;

/** A new token invalidates the previous one, and a name can only be registered once. */
const needs: Readonly<Record<RegistrationPlan["do"], Needs>> = {
  keep: "nothing",
  ask: { external: true },
  update: { external: true },
  refuse: { external: true },
  register: { external: true, irreversible: true },
  regenerate: { external: true, irreversible: true },
};

/** Status of a proxy that is not registered. */
export const notRegistered: Changes<WorkspaceProxyStatus> = {
  registered: false,
  proxyID: undefined,
  proxyName: undefined,
  coderURL: undefined,
  proxyTokenSecretRef: undefined,
};

/** The registration of a proxy in coderd, and its token in a Secret. */
export function registrationEffect(
  run: RegistrationRun,
): Effect<RegistrationState, RegistrationPlan, CoderFailure> {
  return {
    plan: ({ object, keptToken: token, coderd }) =>
      planRegistration({
        wanted: run.registration,
        coderURL: run.session.coderd.url,
        recorded: object.status ?? {},
        kept: token === undefined ? undefined : { token, accepted: coderd?.accepted ?? false },
        records: coderd?.records,
        recent: run.recent,
      }),
    needs: (plan) => needs[plan.do],
    refresh: (state) => refresh(state, run),
    act: (plan, state) => act(plan, state, run),
  };
}

/** The only place that changes coderd. Each effect is recorded before anything else happens. */
async function act(plan: RegistrationPlan, state: RegistrationState, run: RegistrationRun): Step {
  switch (plan.do) {
    case "keep":
      return { next: state };
    case "ask":
      return ask(state, run);
    case "update":
      return update(plan, state, run);
    case "regenerate":
      return regenerate(plan, state, run);
    case "register":
      return register(state, run);
    case "refuse":
      return { failed: nameTaken(run) };
  }
}

async function ask(state: RegistrationState, { session: { client } }: RegistrationRun): Step {
  const records = await client.workspaceProxies();
  if (!records.ok) return { failed: records.failure };
  const { keptToken } = state;
  const accepted = keptToken === undefined ? succeeded(false) : await client.acceptsProxyToken(keptToken);
  if (!accepted.ok) return { failed: accepted.failure };
  return { next: { ...state, coderd: { records: records.value, accepted: accepted.value } } };
}

/** Caches may not contain a write of another process, or a write whose response was lost. */
async function refresh(
  state: RegistrationState,
  { environment, registration, snapshot }: RegistrationRun,
): Step {
  const { name, key } = registration.token;
  const fresh = await environment.own.readUncached([name]);
  if (!fresh) return { overtaken: true };
  const { object, secrets } = fresh;
  const [secret] = secrets.filter((present) => environment.children.mayAdopt(present, snapshot.owner));
  const keptToken = readSecretValue(secret, key)?.trim() || state.keptToken;
  const isAsSeen =
    keptToken === state.keptToken && isDeepStrictEqual(object.status ?? {}, state.object.status ?? {});
  return { next: { object, keptToken, coderd: isAsSeen ? state.coderd : undefined, isFresh: true } };
}

/**
 * The name is recorded first. If the process stops before the token is stored, the next one knows that the
 * proxy with this name belongs to this object, and creates a new token.
 */
async function register(state: RegistrationState, run: RegistrationRun): Step {
  const { environment, registration, session } = run;
  const { client, coderd } = session;
  const { proxyName } = registration;
  warnOfPredecessor(state, run);
  await reserveSecret(state, run);
  const claim = { ...notRegistered, proxyName, coderURL: coderd.url };
  const claimed = await environment.own.record(() => claim);
  if (!claimed) return { overtaken: true };
  const made = await client.createWorkspaceProxy({ ...registration, name: proxyName });
  if (made.ok) {
    environment.own.emit("Normal", "Registered", `Registered proxy "${proxyName}" at ${coderd.url}.`);
    return store(made.value, run);
  }
  const { failure } = made;
  // Unless the result of the request is unknown, the claim to the name is dropped.
  if (failure.kind !== "transient") await environment.own.record(() => notRegistered);
  return { failed: failure.kind === "duplicate" ? nameTaken(run) : failure };
}

async function regenerate(
  { record, because }: Plan<"regenerate">,
  state: RegistrationState,
  run: RegistrationRun,
): Step {
  await reserveSecret(state, run);
  const made = await run.session.client.regenerateProxyToken(record.id, presentation(record, run));
  if (!made.ok) return { failed: made.failure };
  const message = `Created a new token for proxy "${record.name}" because ${because}.`;
  run.environment.own.emit("Normal", "TokenRegenerated", message);
  return store(made.value, run);
}

async function update({ record }: Plan<"update">, state: RegistrationState, run: RegistrationRun): Step {
  const wanted = presentation(record, run);
  const updated = await run.session.client.updateWorkspaceProxy(record.id, wanted);
  if (!updated.ok) return { failed: updated.failure };
  const message = `Updated proxy "${wanted.name}" in coderd to match the spec.`;
  run.environment.own.emit("Normal", "ProxyUpdated", message);
  const others = state.coderd?.records.filter(({ id }) => id !== record.id) ?? [];
  return { next: { ...state, coderd: { records: [...others, { ...record, ...wanted }], accepted: true } } };
}

function nameTaken({ registration, session }: RegistrationRun): CoderFailure {
  const message = `coderd at ${session.coderd.url} already has a proxy "${registration.proxyName}" that this object did not register; change proxyName in the spec, or delete the existing proxy in coderd.`;
  return { kind: "duplicate", message };
}

/** coderd returns a token only once, so its Secret must exist before the request. */
async function reserveSecret({ keptToken = "" }: RegistrationState, run: RegistrationRun): Promise<void> {
  const { environment, registration, snapshot } = run;
  const secret = tokenSecret(snapshot.proxy, registration, keptToken);
  await environment.children.apply(Secret, secret, snapshot.owner);
}

async function store({ proxy, token }: RegisteredProxy, run: RegistrationRun): Step {
  const { environment, registration, snapshot } = run;
  const secret = tokenSecret(snapshot.proxy, registration, token);
  await environment.children.converge(Secret, [secret], snapshot.owner);
  const object = await environment.own.record(() => registered(proxy, run));
  if (!object) return { overtaken: true };
  return { next: { object, keptToken: token, coderd: { records: [proxy], accepted: true }, isFresh: true } };
}

/** Status of a registered proxy. */
export function registered(
  { id, name }: WorkspaceProxy,
  { registration, session }: RegistrationRun,
): Changes<WorkspaceProxyStatus> {
  return {
    registered: true,
    proxyID: id,
    proxyName: name,
    coderURL: session.coderd.url,
    proxyTokenSecretRef: { ...registration.token },
  };
}

/** Keeps values that the spec does not set. */
function presentation(record: WorkspaceProxy, { registration }: RegistrationRun) {
  return {
    name: registration.proxyName,
    displayName: registration.displayName || record.displayName,
    icon: registration.icon || record.icon,
  };
}

function warnOfPredecessor({ object }: RegistrationState, { environment, session }: RegistrationRun): void {
  const { proxyID, proxyName, coderURL } = object.status ?? {};
  if (!proxyID || isSameService(coderURL, session.coderd.url)) return;
  const message = `Proxy "${proxyName}" may still be registered at ${coderURL}; delete it manually if it is not needed.`;
  environment.own.emit("Warning", "LeftBehind", message);
}
