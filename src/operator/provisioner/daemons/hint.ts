import type { ObservedControlPlane } from "../../control-plane/session/find.ts";
import { keyVariable } from "../resources/deployment.ts";
import type { Provisioner } from "../spec.ts";

/** Variables of a daemon that decide where it goes and with what. */
const OURS = ["CODER_URL", keyVariable, "CODER_PROVISIONER_DAEMON_NAME"];

/** What may keep a daemon from a coderd that the operator itself can reach, as far as the specs tell. */
export function whyNotConnected(
  { pod }: Provisioner,
  { settings, url }: Pick<ObservedControlPlane, "settings" | "url">,
): string {
  const changed = pod.extraEnv.find(({ name }) => OURS.includes(name));
  if (changed) return `spec.extraEnv sets ${changed.name}; remove it unless that is meant.`;
  const [secret] = settings.pod.tlsSecretNames;
  if (url.startsWith("https:") && secret && pod.authorities.length === 0) {
    return `coderd serves the certificate of Secret "${secret}", and spec.certs.secrets names no authority for the daemons to trust; add its CA there unless a public one signed it.`;
  }
  return `The operator reaches coderd at ${url}; check that the pod can (DNS, network policies, proxies, the CA).`;
}
