import { codeOf } from "../error-code.ts";

const CERTIFICATE_PROBLEMS: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is self-signed; add it as a CA certificate",
  SELF_SIGNED_CERT_IN_CHAIN: "its CA is not trusted; add the CA certificate",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "its CA is not trusted; add the CA certificate",
  UNABLE_TO_GET_ISSUER_CERT: "its CA is not trusted; add the CA certificate",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its CA is not trusted; add the CA certificate",
  CERT_SIGNATURE_FAILURE: "its certificate is signed by a different CA than the configured one",
  CERT_HAS_EXPIRED: "its certificate has expired",
  CERT_NOT_YET_VALID: "its certificate is not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for a different host name",
};

const CONNECTION_PROBLEMS: Readonly<Record<string, string>> = {
  UND_ERR_INVALID_ARG: "the request cannot be sent: the token may contain invalid characters",
  ECONNREFUSED: "connection refused",
  ENOTFOUND: "the host name does not resolve",
  EAI_AGAIN: "the DNS lookup of the host name failed",
  EHOSTUNREACH: "no route to the host",
  ENETUNREACH: "no route to the network",
  ETIMEDOUT: "the connection timed out",
  UND_ERR_CONNECT_TIMEOUT: "the connection timed out",
  ECONNRESET: "the connection was interrupted",
  EPIPE: "the connection was interrupted",
  UND_ERR_SOCKET: "the connection was interrupted",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "the connection was interrupted",
};

/** There is no valid response. The message explains why and is safe to show. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";

  /** Describes a request error by its code only, because its message may contain secrets. */
  static from(error: unknown): NoAnswer {
    if (error instanceof NoAnswer) return error;
    return new NoAnswer(describe(codeOf(error)), { cause: error });
  }
}

function describe(code: string): string {
  const certificate = CERTIFICATE_PROBLEMS[code];
  if (certificate) return `TLS failed: ${certificate} (${code})`;
  if (/^(ERR_SSL|ERR_TLS|EPROTO|CERT_|UNABLE_TO)/.test(code)) return `TLS failed (${code})`;
  if (/^HPE_|HTTPParserError/.test(code)) return `the server does not speak HTTP (${code})`;
  return CONNECTION_PROBLEMS[code] ?? `no response (${code})`;
}
