import { X509Certificate } from "node:crypto";

const BEGIN = "-----BEGIN CERTIFICATE-----";
const END = "-----END CERTIFICATE-----";

/** More than the bundle of any operating system; each certificate costs time to read. */
const MAX_CERTIFICATES = 500;

/**
 * The certificates in a PEM text; `undefined` when it holds none, or one that can't be read. TLS itself would
 * skip those in silence.
 */
export function readableCertificates(pem: string): string[] | undefined {
  const blocks = certificateBlocks(pem);
  const isUsable = blocks.length > 0 && blocks.length <= MAX_CERTIFICATES;
  return isUsable && blocks.every((block) => leafCertificate(block) !== undefined) ? blocks : undefined;
}

/**
 * The certificates in a PEM text, read or not. Found from the left, each place looked at once: the text is what somebody
 * put into a Secret, and may be anything.
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

/** The first certificate of a chain is the server's own. Reading it costs time, so no more than that is read. */
export function leafCertificate(pem: string | undefined): X509Certificate | undefined {
  try {
    return pem === undefined ? undefined : new X509Certificate(pem);
  } catch {
    return undefined;
  }
}
