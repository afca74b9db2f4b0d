import { X509Certificate } from "node:crypto";
import { getCACertificates } from "node:tls";

const PEM_BLOCK = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/**
 * The certificates to trust when `pem` is trusted besides the system's; `undefined` when `pem` holds none or
 * one that can't be read. TLS itself would skip those in silence.
 */
export function trustedBesidesSystem(pem: string): string[] | undefined {
  const blocks = readableCertificates(pem);
  return blocks && [...getCACertificates("default"), ...blocks];
}

/** The certificates in a PEM text, or `undefined` as above. */
export function readableCertificates(pem: string): string[] | undefined {
  const blocks = pem.match(PEM_BLOCK) ?? [];
  return blocks.length > 0 && blocks.every(isReadable) ? blocks : undefined;
}

function isReadable(block: string): boolean {
  try {
    return new X509Certificate(block).serialNumber !== "";
  } catch {
    return false;
  }
}
