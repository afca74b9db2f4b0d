import { blocked, findCondition, fingerprint } from "kube-controller-runtime";
import type { CoderPorts } from "../coderd/ports.ts";
import { certificates, openSession, operatorToken, tokenFrom } from "../coderd/session.ts";
import { withBootstrapEnd } from "../coderd/token-end.ts";
import type { SecretKey } from "../normalize.ts";
import type { Sources } from "../sources.ts";
import type { Environment, Snapshot } from "./observe.ts";
import type { Access, Coderd } from "./session.ts";
import { conditionTypes, type WorkspaceProxyResult } from "./status.ts";

/** Reads the credentials in the spec. The next step checks whether coderd accepts them. */
export async function readCredentials(
  snapshot: Snapshot,
  environment: Environment,
  coderd: Coderd | undefined,
): Promise<WorkspaceProxyResult<Access>> {
  if (!coderd) return blocked("Pending", "Waiting for condition CoderdFound to be True.");
  const { credentials } = snapshot.proxy;
  if (credentials.kind === "bootstrap")
    return bootstrapSession(coderd, credentials.session, { snapshot, environment });
  return {
    ...lastingCredentials(coderd, snapshot, environment.ports),
    status: { bootstrapTokenExpires: undefined },
  };
}

/** Credentials that the operator renews, or that only the pods use. */
function lastingCredentials(
  coderd: Coderd,
  { proxy: { credentials }, sources }: Snapshot,
  ports: CoderPorts,
): WorkspaceProxyResult<Access> {
  if (credentials.kind === "controlPlane") return operatorSession(coderd, sources, ports);
  if (credentials.kind === "given") {
    const { value: token, ...found } = tokenFrom(credentials.token, sources, { recipient: "pods" });
    return token ? { ...found, value: { kind: "token", token } } : found;
  }
  return blocked(
    "NotConfigured",
    "The spec contains no credentials; set spec.controlPlaneRef, spec.bootstrap or spec.proxySessionTokenSecretRef.",
  );
}

async function bootstrapSession(
  coderd: Coderd,
  ref: SecretKey,
  { snapshot, environment }: { readonly snapshot: Snapshot; readonly environment: Environment },
): Promise<WorkspaceProxyResult<Access>> {
  const { now, object, proxy, sources } = snapshot;
  const { memory, own, ports } = environment;
  const { value: token, ...found } = tokenFrom(ref, sources, { recipient: "elsewhere" });
  if (!token) return found;
  const trust = certificates(proxy.pod.authorities, sources);
  const client = ports.coderd.client({ url: coderd.url, token, ...trust });
  const inputs = [coderd.url, token, trust.ca, trust.fault];
  const session = { client, coderd, fingerprint: fingerprint(inputs) };
  // The first requests belong to the registration, which handles failures of coderd.
  if (!object.status?.registered) return { ...found, value: { kind: "session", ...session } };
  const before = findCondition(object.status.conditions, conditionTypes.credentials);
  const emit = own.emit.bind(own);
  const given = { token, client, secretName: ref.name, memory, now, before, emit };
  return { ...(await withBootstrapEnd(found, given)), value: { kind: "session", ...session } };
}

function operatorSession(coderd: Coderd, sources: Sources, ports: CoderPorts): WorkspaceProxyResult<Access> {
  const { controlPlane, url } = coderd;
  if (controlPlane?.status.phase !== "Ready") {
    const name = controlPlane?.settings.identity.name;
    return blocked("Pending", `Waiting for a ready pod of CoderControlPlane "${name}".`);
  }
  const { value: token, ...found } = operatorToken(controlPlane, sources);
  if (!token) return found;
  const { licenseLastAppliedHash, licenseTier } = controlPlane.status;
  const session = {
    client: openSession(controlPlane.settings, { url, token }, { ports, sources }),
    coderd,
    fingerprint: fingerprint([url, token, licenseLastAppliedHash, licenseTier]),
  };
  return { ...found, value: { kind: "session", ...session } };
}
