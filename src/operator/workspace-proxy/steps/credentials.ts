import { blocked, fingerprint } from "kube-controller-runtime";
import type { CoderClient } from "../../../coder/client.ts";
import { certificates, openSession, operatorToken, tokenFrom } from "../../control-plane/session.ts";
import type { Environment, Snapshot } from "../observe.ts";
import type { Coderd } from "./coderd.ts";
import type { Result } from "./result.ts";

/** A way into coderd's API. */
export interface Session {
  readonly kind: "session";
  readonly client: CoderClient;
  readonly coderd: Coderd;
  /** Differs when an answer given earlier may no longer be true: another token, another licence. */
  readonly fingerprint: string;
}

/** What the credentials of the spec open: coderd's API, or no more than the door for the proxy itself. */
export type Access = Session | { readonly kind: "token"; readonly token: string };

/** Reads the credentials that the spec refers to. Whether coderd takes them, the next step will find out. */
export async function readCredentials(
  { proxy }: Snapshot,
  environment: Environment,
  coderd: Coderd | undefined,
): Promise<Result<Access>> {
  if (!coderd) return blocked("Pending", "waits until coderd is found");
  const { context, ports } = environment;
  const { credentials, identity, pod } = proxy;
  const use = { namespace: identity.namespace, context };
  switch (credentials.kind) {
    case "controlPlane":
      return operatorSession(coderd, environment);
    case "bootstrap": {
      const { value: token, ...found } = await tokenFrom(credentials.session, {
        ...use,
        recipient: "elsewhere",
      });
      if (!token) return found;
      const trust = await certificates(pod.authorities, proxy, context);
      const client = ports.coderd.client({ url: coderd.url, token, ...trust });
      const inputs = [coderd.url, token, trust.ca, trust.fault];
      const session = { client, coderd, fingerprint: fingerprint(inputs) };
      return { ...found, value: { kind: "session", ...session } };
    }
    case "given": {
      const { value: token, ...found } = await tokenFrom(credentials.token, { ...use, recipient: "pods" });
      return token ? { ...found, value: { kind: "token", token } } : found;
    }
    case "none":
      return blocked("NotConfigured", "the spec names no credentials");
  }
}

async function operatorSession(coderd: Coderd, environment: Environment): Promise<Result<Access>> {
  const { controlPlane, url } = coderd;
  if (controlPlane?.status.phase !== "Ready") {
    const name = controlPlane?.settings.identity.name;
    return blocked("Pending", `waits until CoderControlPlane "${name}" has a ready pod`);
  }
  const { value: token, ...found } = await operatorToken(controlPlane, environment.context);
  if (!token) return found;
  const { licenseLastAppliedHash, licenseTier } = controlPlane.status;
  const session = {
    client: await openSession(controlPlane.settings, { url, token }, environment),
    coderd,
    fingerprint: fingerprint([url, token, licenseLastAppliedHash, licenseTier]),
  };
  return { ...found, value: { kind: "session", ...session } };
}
