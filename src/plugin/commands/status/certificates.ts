import { X509Certificate } from "node:crypto";
import { type Client, isNotFound, keyOf, Secret, type Stored } from "kube-controller-runtime";
import type { CoderControlPlane, CoderWorkspaceProxy } from "../../../api/v1alpha1/kinds.ts";
import type { Gaps } from "../../gaps.ts";
import type { Certificate } from "./report.ts";

const DAY_MS = 86_400_000;

/** A Secret with a certificate, and who serves it. */
export interface CertificateSecret {
  readonly namespace: string;
  readonly name: string;
  readonly servedBy: string;
}

/** The Secrets from which an object's pods or its Ingress serve TLS. */
export function certificateSecrets(
  object: Stored<CoderControlPlane> | Stored<CoderWorkspaceProxy>,
): CertificateSecret[] {
  const { name: own, namespace = "" } = object.metadata;
  const { tls, expose } = object.spec ?? {};
  const atIngress = [expose?.ingress?.tls?.secretName, expose?.ingress?.tls?.wildcardSecretName];
  return [
    ...(tls?.secretNames ?? []).map((name) => ({ namespace, name, servedBy: own })),
    ...atIngress.flatMap((name) => (name ? [{ namespace, name, servedBy: "Ingress" }] : [])),
  ];
}

/** The Secrets that could be read; one line says in which namespace they could not. */
export async function readSecrets(
  client: Pick<Client, "get">,
  named: readonly CertificateSecret[],
  gaps: Gaps,
): Promise<Map<string, Stored<Secret>>> {
  const secrets = new Map<string, Stored<Secret>>();
  await Promise.all(
    named.map(async ({ namespace, name }) => {
      const reading = client.get(Secret, { namespace, name }).catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
      const secret = await gaps.read(`get secrets in namespace "${namespace}"`, reading);
      if (secret) secrets.set(keyOf({ namespace, name }), secret);
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

/** The end of the first certificate, which is the one that is served; the others are its issuers. */
function endOf(secret: Stored<Secret> | undefined): number | undefined {
  const encoded = secret?.data?.["tls.crt"];
  if (!encoded) return undefined;
  try {
    return new X509Certificate(Buffer.from(encoded, "base64")).validToDate.getTime();
  } catch {
    return undefined;
  }
}
