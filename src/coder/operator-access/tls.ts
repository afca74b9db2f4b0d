import type { ConnectionOptions } from "node:tls";
import { parseCertificates } from "../certificates.ts";
import type { ConnectionSettings } from "./connection-url.ts";
import { DatabaseProblem } from "./failure.ts";

/** Encryption of one connection attempt: TLS options, or `false` for plaintext. */
export type Encryption = ConnectionOptions | false;

/** Connection attempts, preferred first. */
type EncryptionAttempts = readonly [Encryption, ...Encryption[]];

export interface TlsFiles {
  /**
   * Reads a file from a connection URL as coderd's pod sees it, or returns `undefined` if it does not exist.
   */
  readonly readFile: (path: string) => Promise<string | undefined>;
  /** Reads the PEM certificates that coderd trusts in addition to the system's, if any. */
  readonly ca?: (() => Promise<string | undefined>) | undefined;
}

/** Locations of the system's CA bundle in common images, including coderd's. */
const SYSTEM_BUNDLES: readonly string[] = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/ssl/cert.pem",
  "/etc/ssl/ca-bundle.pem",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/pki/tls/cacert.pem",
  "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
];

const ANY_HOST: ConnectionOptions = { checkServerIdentity: () => undefined };

/**
 * Returns the attempts, in order, for a libpq `sslmode`. `allow` and `prefer` fall back to the alternative.
 * `require` encrypts without authenticating the server unless a root certificate is set. `verify-ca` verifies
 * the chain, and `verify-full` also the host name.
 */
export async function encryptionAttempts(
  settings: ConnectionSettings,
  files: TlsFiles,
): Promise<EncryptionAttempts> {
  if (settings.sslMode === "disable") return [false];
  const certificate = await clientCertificate(settings, files);
  const unverified: Encryption = { rejectUnauthorized: false, ...certificate };
  switch (settings.sslMode) {
    case "allow":
      return [false, unverified];
    case "prefer":
      return [unverified, false];
    case "require":
      return settings.sslRootCert ? verified(settings, files, { ...certificate, ...ANY_HOST }) : [unverified];
    case "verify-ca":
      return verified(settings, files, { ...certificate, ...ANY_HOST });
    case "verify-full":
      return verified(settings, files, certificate);
  }
}

/**
 * A root certificate replaces all others, as in libpq. Otherwise, coderd's certificates and the system's
 * apply.
 */
async function verified(
  { sslRootCert }: ConnectionSettings,
  files: TlsFiles,
  options: ConnectionOptions,
): Promise<EncryptionAttempts> {
  const bySystem: Encryption = { rejectUnauthorized: true, ...options };
  if (sslRootCert && !(await isSystem(sslRootCert, files)))
    return [
      { ...bySystem, ca: pem(await read("sslrootcert", sslRootCert, files), "The file of sslrootcert") },
    ];
  const ca = sslRootCert ? undefined : await files.ca?.();
  return ca ? [{ ...bySystem, ca: pem(ca, "The list of CA certificates") }, bySystem] : [bySystem];
}

/** Whether this refers to the system's CAs, by the keyword of libpq or by a bundle of the image. */
async function isSystem(sslRootCert: string, files: TlsFiles): Promise<boolean> {
  if (sslRootCert === "system") return true;
  return SYSTEM_BUNDLES.includes(sslRootCert) && (await files.readFile(sslRootCert)) === undefined;
}

async function clientCertificate(
  { sslCert, sslKey }: ConnectionSettings,
  files: TlsFiles,
): Promise<ConnectionOptions> {
  if (!sslCert || !sslKey) return {};
  return { cert: await read("sslcert", sslCert, files), key: await read("sslkey", sslKey, files) };
}

async function read(parameter: string, path: string, files: TlsFiles): Promise<string> {
  const content = await files.readFile(path);
  if (content !== undefined) return content;
  throw tlsProblem(
    `The file in parameter ${parameter} of the connection URL is not mounted in coderd's pods; mount it with spec.certs or spec.volumes.`,
  );
}

function pem(text: string, where: string): string[] {
  const certificates = parseCertificates(text);
  if (certificates) return certificates;
  throw tlsProblem(`${where} contains no valid PEM certificate; add one.`);
}

function tlsProblem(message: string): DatabaseProblem {
  return new DatabaseProblem("tlsFailed", message);
}
