import { keyOf, type Secret, type Stored } from "kube-controller-runtime";
import { leafCertificate } from "../../../coder/certificates.ts";
import { type CertificateSecret, type Exposable, type Gateways, gatewaySecrets } from "./gateways.ts";
import type { Certificate } from "./report.ts";

const DAY_MS = 86_400_000;

/** The Secrets with the TLS certificates of an object's pods, Ingress or Gateways. */
export function certificateSecrets(object: Exposable, gateways: Gateways): CertificateSecret[] {
  const { name: own, namespace = "" } = object.metadata;
  const { tls, expose } = object.spec ?? {};
  const atIngress = [expose?.ingress?.tls?.secretName, expose?.ingress?.tls?.wildcardSecretName];
  return [
    ...(tls?.secretNames ?? []).map((name) => ({ namespace, name, servedBy: own })),
    ...atIngress.flatMap((name) => (name ? [{ namespace, name, servedBy: "Ingress" }] : [])),
    ...gatewaySecrets(object, gateways),
  ];
}

/** The certificates of an object. */
export function certificatesOf(
  named: readonly CertificateSecret[],
  secrets: ReadonlyMap<string, Stored<Secret> | undefined>,
  now: number,
): Certificate[] {
  return named.map(({ namespace, name, servedBy }) => {
    const key = keyOf({ namespace, name });
    const secret = secrets.get(key);
    if (secrets.has(key) && !secret) return { secret: name, servedBy, isMissing: true };
    const end = endOf(secret);
    if (end === undefined) return { secret: name, servedBy };
    return { secret: name, servedBy, expires: new Date(end).toISOString(), daysLeft: daysUntil(end, now) };
  });
}

/** Whole days that are left; negative after the expiry. */
export function daysUntil(end: number, now: number): number {
  return Math.floor((end - now) / DAY_MS);
}

function endOf(secret: Stored<Secret> | undefined): number | undefined {
  const encoded = secret?.data?.["tls.crt"];
  const pem = encoded && Buffer.from(encoded, "base64").toString("latin1");
  return leafCertificate(pem)?.validToDate.getTime();
}
