import { blocked, fingerprint } from "kube-controller-runtime";
import type { CoderPorts } from "../coderd/ports.ts";
import { certificates, openSession, operatorToken, tokenFrom } from "../coderd/session.ts";
import type { Sources } from "../sources.ts";
import type { Environment, Snapshot } from "./observe.ts";
import type { Access, Coderd } from "./session.ts";
import type { WorkspaceProxyResult } from "./status.ts";

/** Reads the credentials that the spec refers to. Whether coderd takes them, the next step will find out. */
export async function readCredentials(
  { proxy, sources }: Snapshot,
  { ports }: Environment,
  coderd: Coderd | undefined,
): Promise<WorkspaceProxyResult<Access>> {
  if (!coderd) return blocked("Pending", "Waiting for condition CoderdFound.");
  const { credentials, pod } = proxy;
  switch (credentials.kind) {
    case "controlPlane":
      return operatorSession(coderd, sources, ports);
    case "bootstrap": {
      const { value: token, ...found } = tokenFrom(credentials.session, sources, { recipient: "elsewhere" });
      if (!token) return found;
      const trust = certificates(pod.authorities, sources);
      const client = ports.coderd.client({ url: coderd.url, token, ...trust });
      const inputs = [coderd.url, token, trust.ca, trust.fault];
      const session = { client, coderd, fingerprint: fingerprint(inputs) };
      return { ...found, value: { kind: "session", ...session } };
    }
    case "given": {
      const { value: token, ...found } = tokenFrom(credentials.token, sources, { recipient: "pods" });
      return token ? { ...found, value: { kind: "token", token } } : found;
    }
    case "none":
      return blocked(
        "NotConfigured",
        "The spec names no credentials; set spec.controlPlaneRef, spec.bootstrap or spec.proxySessionTokenSecretRef.",
      );
  }
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
