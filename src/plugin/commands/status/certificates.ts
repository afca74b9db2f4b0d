import { type Client, find, keyOf, Secret, type Stored } from "kube-controller-runtime";
import { leafCertificate } from "../../../coder/certificates.ts";
import type { Gaps } from "../../gaps.ts";
import { type CertificateSecret, type Exposable, type Gateways, gatewaySecrets } from "./gateways.ts";
import type { Certificate } from "./report.ts";

const DAY_MS = 86_400_000;

/** The Secrets from which an object's pods, its Ingress or its Gateways serve TLS. */
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

/** The Secrets that could be read, each read once; one line says in which namespace they could not. */
export async function readSecrets(
  client: Pick<Client, "get">,
  named: readonly CertificateSecret[],
  gaps: Gaps,
): Promise<Map<string, Stored<Secret>>> {
  const secrets = new Map<string, Stored<Secret>>();
  const refs = new Map(named.map(({ namespace, name }) => [keyOf({ namespace, name }), { namespace, name }]));
  await Promise.all(
    [...refs].map(async ([key, ref]) => {
      const reading = find(client, Secret, ref);
      const secret = await gaps.read(`get secrets in namespace "${ref.namespace}"`, reading);
      if (secret) secrets.set(key, secret);
    }),
  );
  return secrets;
}

/** What is known of the certificates of an object. */
export function certificatesOf(
  named: readonly CertificateSecret[],
  secrets: ReadonlyMap<string, Stored<Secret>>,
  now: number,
): Certificate[] {
  return named.map(({ namespace, name, servedBy }) => {
    const end = endOf(secrets.get(keyOf({ namespace, name })));
    if (end === undefined) return { secret: name, servedBy };
    return { secret: name, servedBy, expires: new Date(end).toISOString(), daysLeft: daysUntil(end, now) };
  });
}

/** Whole days that are left; negative when the time is over. */
export function daysUntil(end: number, now: number): number {
  return Math.floor((end - now) / DAY_MS);
}

function endOf(secret: Stored<Secret> | undefined): number | undefined {
  const encoded = secret?.data?.["tls.crt"];
  const pem = encoded && Buffer.from(encoded, "base64").toString("latin1");
  return leafCertificate(pem)?.validToDate.getTime();
}
