import { X509Certificate } from "node:crypto";

const PEM_BLOCK = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/**
 * The certificates in a PEM text; `undefined` when it holds none, or one that can't be read. TLS itself would
 * skip those in silence.
 */
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
