import type { Deployment } from "kube-controller-runtime";
import type { FoundControlPlane } from "../../control-plane/session/find.ts";
import { keyVariable, urlVariable } from "../resources/deployment.ts";
import type { Provisioner } from "../spec.ts";

/** Variables of a daemon that decide where it goes and with what. */
const OURS = [urlVariable, keyVariable, "CODER_PROVISIONER_DAEMON_NAME"];

/** What may keep a daemon from a coderd that the operator itself can reach, as far as the specs tell. */
export function whyNotConnected(
  { pod }: Provisioner,
  { settings, url }: Pick<FoundControlPlane, "settings" | "url">,
  deployment: Deployment | undefined,
): string {
  const changed = pod.extraEnv.find(({ name }) => OURS.includes(name));
  if (changed) return `spec.extraEnv sets ${changed.name}; remove it unless that is meant.`;
  const [container] = deployment?.spec?.template.spec?.containers ?? [];
  const used = container?.env?.find(({ name }) => name === urlVariable)?.value ?? url;
  const [secret] = settings.pod.tlsSecretNames;
  if (used.startsWith("https:") && secret && pod.authorities.length === 0) {
    return `coderd serves the certificate of Secret "${secret}", and spec.certs.secrets names no authority for the daemons to trust; add its CA there unless a public one signed it.`;
  }
  return `The daemon goes to ${used}; check that its pod can reach that (DNS, network policies, proxies, the CA).`;
}
