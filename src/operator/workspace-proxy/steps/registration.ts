import { isDeepStrictEqual } from "node:util";
import { blocked, CONTROLLER_INDEX, find, Secret } from "kube-controller-runtime";
import { CoderWorkspaceProxy } from "../../../api/v1alpha1/kinds.ts";
import type { CoderFailure } from "../../../coder/failure.ts";
import { type Result as Outcome, succeeded } from "../../../coder/result.ts";
import { readSecretValue } from "../../secret.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { planRegistration, type RegistrationFacts } from "../registration-plan.ts";
import { registrationOf, tokenKeyOf } from "../spec.ts";
import type { Access } from "./credentials.ts";
import { carryOut } from "./registering.ts";
import type { Result } from "./result.ts";
import { type Attempt, failed, nowhere, recall, type Standing, unchanged } from "./standing.ts";

/**
 * Keeps the proxy registered at coderd and its token in a Secret. The value has the token, also while coderd
 * can't be asked. In steady state coderd is asked once a minute.
 */
export async function ensureRegistration(
  snapshot: Snapshot,
  environment: Environment,
  access: Access | undefined,
): Promise<Result<Standing>> {
  const registration = registrationOf(snapshot.proxy);
  if (!registration) return leaveToUser(snapshot, environment, access);
  if (access?.kind !== "session")
    return { ...blocked("Pending", "waits for credentials"), ...unchanged(snapshot) };
  const attempt: Attempt = { snapshot, environment, registration, session: access };
  return (await recall(attempt)) ?? converge(attempt);
}

async function converge(attempt: Attempt): Promise<Result<Standing>> {
  const facts = await look(attempt);
  if (!facts.ok) return failed(facts.failure, attempt);
  const plan = planRegistration(facts.value);
  if (plan.do !== "register" && plan.do !== "regenerate") return carryOut(plan, attempt);
  const snapshot = await refresh(attempt);
  if (!snapshot) return blocked("Pending", "the spec has changed meanwhile");
  const isAsSeen = isDeepStrictEqual(snapshot, attempt.snapshot);
  return isAsSeen ? carryOut(plan, attempt) : converge({ ...attempt, snapshot });
}

/**
 * The snapshot with the status and the token as they are past the caches. Those may lag behind what another
 * process did, or behind a write whose answer was lost, and a new token ends the one before. `undefined` when the
 * object is not what the run is about any more.
 */
async function refresh({ environment, registration, snapshot }: Attempt): Promise<Snapshot | undefined> {
  const { children, client } = environment.context;
  const { namespace, name } = snapshot.proxy.identity;
  const object = await find(client, CoderWorkspaceProxy, { namespace, name });
  const { uid, generation } = snapshot.object.metadata;
  if (object?.metadata.uid !== uid || object.metadata.generation !== generation) return undefined;
  const { token } = registration;
  const secret = await find(client, Secret, { namespace, name: token.name });
  const isOurs = secret !== undefined && children.mayTake(secret, snapshot.owner);
  const stored = isOurs ? readSecretValue(secret, token.key) : undefined;
  const { status } = object;
  return {
    ...snapshot,
    object: status ? { ...snapshot.object, status } : snapshot.object,
    keptToken: stored?.trim() || snapshot.keptToken,
  };
}

async function look(attempt: Attempt): Promise<Outcome<RegistrationFacts, CoderFailure>> {
  const { registration, session, snapshot } = attempt;
  const { client, coderd } = session;
  const records = await client.workspaceProxies();
  if (!records.ok) return records;
  const token = snapshot.keptToken;
  const accepted = token === undefined ? succeeded(false) : await client.acceptsProxyToken(token);
  if (!accepted.ok) return accepted;
  return succeeded({
    wanted: registration,
    coderURL: coderd.url,
    recorded: snapshot.object.status ?? {},
    kept: token === undefined ? undefined : { token, accepted: accepted.value },
    records: records.value,
  });
}

/** A proxy that brings its own token: what was made for it earlier is not needed any more. */
async function leaveToUser(
  snapshot: Snapshot,
  { context }: Environment,
  access: Access | undefined,
): Promise<Result<Standing>> {
  const ref = tokenKeyOf(snapshot.proxy);
  const made = context.caches.of(Secret).byIndex(CONTROLLER_INDEX, snapshot.object.metadata.uid);
  for (const secret of made) {
    if (secret.metadata.name !== ref?.name) await context.children.remove(Secret, secret, snapshot.owner);
  }
  const message = "the token was given, so the registration is yours to look after";
  return {
    condition: { status: "Unknown", reason: "NotManaged", message },
    status: { ...nowhere, ...(ref ? { proxyTokenSecretRef: { ...ref } } : {}) },
    ...(access?.kind === "token" ? { value: { token: access.token } } : {}),
  };
}
