import { blocked, type Changes, checkpoint, Secret } from "kube-controller-runtime";
import { CoderWorkspaceProxy } from "../../../api/v1alpha1/kinds.ts";
import type { WorkspaceProxyStatus } from "../../../api/v1alpha1/workspace-proxy.ts";
import type { CoderFailure } from "../../../coder/failure.ts";
import type { RegisteredProxy, WorkspaceProxy } from "../../../coder/model.ts";
import type { RegistrationPlan } from "../registration-plan.ts";
import { tokenSecret } from "../resources/token-secret.ts";
import type { Result } from "./result.ts";
import { type Attempt, failed, nowhere, type Standing, settle } from "./standing.ts";

/** The one place where coderd is changed. Each effect is recorded before anything else happens. */
export function carryOut(plan: RegistrationPlan, attempt: Attempt): Promise<Result<Standing>> {
  switch (plan.do) {
    case "keep":
      return settle(plan.token, plan.record, attempt);
    case "update":
      return update(plan, attempt);
    case "regenerate":
      return regenerate(plan, attempt);
    case "register":
      return register(attempt);
    case "refuse":
      return refuse(plan, attempt);
  }
}

type Plan<Do extends RegistrationPlan["do"]> = Extract<RegistrationPlan, { do: Do }>;

/**
 * The name is noted first: should this process end before the token is stored, the next one knows whose the
 * proxy of that name is, and asks for another token.
 */
async function register(attempt: Attempt): Promise<Result<Standing>> {
  const { registration, session } = attempt;
  const { client, coderd } = session;
  const { proxyName } = registration;
  tellOfPredecessor(attempt);
  await reserveSecret(attempt);
  const claim = { ...nowhere, proxyName, coderURL: coderd.url };
  if (!(await note(claim, attempt))) return blocked("Pending", "the spec has changed meanwhile");
  const made = await client.createWorkspaceProxy({ ...registration, name: proxyName });
  if (!made.ok) return notRegistered(made.failure, attempt);
  tell(attempt, "Registered", `registered the proxy "${proxyName}" at ${coderd.url}`);
  return store(made.value, attempt);
}

/** Unless it is unclear what became of the request, the claim to the name is given up with it. */
async function notRegistered(failure: CoderFailure, attempt: Attempt): Promise<Result<Standing>> {
  if (failure.kind !== "transient") await note(nowhere, attempt);
  return failure.kind === "duplicate" ? nameTaken(attempt) : failed(failure, attempt);
}

async function regenerate(
  { record, because }: Plan<"regenerate">,
  attempt: Attempt,
): Promise<Result<Standing>> {
  await reserveSecret(attempt);
  const made = await attempt.session.client.regenerateProxyToken(record.id, presentation(record, attempt));
  if (!made.ok) return failed(made.failure, attempt);
  tell(attempt, "TokenRegenerated", `made a new token for the proxy "${record.name}", because ${because}`);
  return store(made.value, attempt);
}

async function update({ record, token }: Plan<"update">, attempt: Attempt): Promise<Result<Standing>> {
  const wanted = presentation(record, attempt);
  const updated = await attempt.session.client.updateWorkspaceProxy(record.id, wanted);
  if (!updated.ok) return failed(updated.failure, attempt);
  tell(attempt, "ProxyUpdated", `changed the proxy "${wanted.name}" at coderd to what the spec says`);
  return settle(token, { ...record, ...wanted }, attempt);
}

async function refuse({ own }: Plan<"refuse">, attempt: Attempt): Promise<Result<Standing>> {
  return own ? nameTaken(attempt) : { ...nameTaken(attempt), status: { registered: false } };
}

function nameTaken(attempt: Attempt): Result<Standing> {
  const { registration, session } = attempt;
  const message = `coderd at ${session.coderd.url} already has a proxy "${registration.proxyName}", which this object did not register; choose another proxyName in the spec, or delete that proxy at coderd`;
  return failed({ kind: "duplicate", message }, attempt);
}

/** coderd shows a token once: the place for it must be there, and ours, before coderd is asked. */
async function reserveSecret({ environment, registration, snapshot }: Attempt): Promise<void> {
  const secret = tokenSecret(snapshot.proxy, registration, snapshot.keptToken ?? "");
  await environment.context.children.apply(Secret, secret, snapshot.owner);
}

async function store({ proxy, token }: RegisteredProxy, attempt: Attempt): Promise<Result<Standing>> {
  const result = await settle(token, proxy, attempt);
  await note(result.status ?? {}, attempt);
  return result;
}

/** Writes fields of the status at once, and not only when the run is over. */
function note(changes: Changes<WorkspaceProxyStatus>, { environment, snapshot }: Attempt) {
  const written = { kind: CoderWorkspaceProxy, object: snapshot.object };
  return checkpoint<CoderWorkspaceProxy, WorkspaceProxyStatus>(written, () => changes, environment.context);
}

/** What the spec leaves open stays as it is. */
function presentation(record: WorkspaceProxy, { registration }: Attempt) {
  return {
    name: registration.proxyName,
    displayName: registration.displayName || record.displayName,
    icon: registration.icon || record.icon,
  };
}

function tellOfPredecessor(attempt: Attempt): void {
  const { proxyID, proxyName, coderURL } = attempt.snapshot.object.status ?? {};
  if (!proxyID || coderURL === attempt.session.coderd.url) return;
  const message = `the proxy "${proxyName}" may still be registered at ${coderURL}; delete it there if it is not needed`;
  attempt.environment.context.events.event(attempt.snapshot.object, {
    type: "Warning",
    reason: "LeftBehind",
    message,
  });
}

function tell({ environment, snapshot }: Attempt, reason: string, message: string): void {
  environment.context.events.event(snapshot.object, { type: "Normal", reason, message });
}
