import { X509Certificate } from "node:crypto";

const BEGIN = "-----BEGIN CERTIFICATE-----";
const END = "-----END CERTIFICATE-----";

/** More than any system bundle contains. Parsing each certificate takes time. */
const MAX_CERTIFICATES = 500;

/**
 * Returns the certificates in a PEM text, or `undefined` if there are none or one is invalid. TLS would
 * silently skip invalid ones.
 */
export function parseCertificates(pem: string): string[] | undefined {
  const blocks = certificateBlocks(pem);
  const isUsable = blocks.length > 0 && blocks.length <= MAX_CERTIFICATES;
  return isUsable && blocks.every((block) => leafCertificate(block) !== undefined) ? blocks : undefined;
}

/**
 * Returns the certificates in a PEM text without parsing them. The text is untrusted, so each position is
 * read only once.
 */
export function certificateBlocks(pem: string): string[] {
  const blocks: string[] = [];
  for (let at = pem.indexOf(BEGIN); at >= 0 && blocks.length <= MAX_CERTIFICATES; ) {
    const end = pem.indexOf(END, at);
    if (end < 0) break;
    blocks.push(pem.slice(at, end + END.length));
    at = pem.indexOf(BEGIN, end);
  }
  return blocks;
}

/**
 * Parses only the first certificate of a chain, which is the certificate of the server, because parsing takes
 * time.
 */
export function leafCertificate(pem: string | undefined): X509Certificate | undefined {
  try {
    return pem === undefined ? undefined : new X509Certificate(pem);
  } catch {
    return undefined;
  }
}
