import type { ConnectionOptions } from "node:tls";
import { readableCertificates } from "../certificates.ts";
import type { ConnectionSettings } from "./connection-url.ts";
import { DatabaseProblem } from "./failure.ts";

/** How to encrypt one attempt to connect: TLS options, or `false` for a plain connection. */
export type Encryption = ConnectionOptions | false;

/** At least one way to connect, the preferred one first. */
type EncryptionAttempts = readonly [Encryption, ...Encryption[]];

export interface TlsFiles {
  /** Reads a file that a connection URL names, as coderd's pod has it; `undefined` when there is none. */
  readonly readFile: (path: string) => Promise<string | undefined>;
  /** Reads the PEM certificates that coderd trusts besides the system's, if there are any. */
  readonly ca?: (() => Promise<string | undefined>) | undefined;
}

/** Where images keep the authorities of their system, coderd's among them. */
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
 * What to try, in order, for a libpq `sslmode`. `allow` and `prefer` fall back to the other way; `require`
 * encrypts without asking who answers, unless a root certificate is given; `verify-ca` checks the chain and
 * `verify-full` the host name too.
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

/** A root certificate stands alone, as libpq has it; otherwise those of coderd count, and the system's. */
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

/** Whether the system's own authorities are meant: by libpq's word for them, or by a file that is the image's own. */
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
  const certificates = readableCertificates(text);
  if (certificates) return certificates;
  throw tlsProblem(`${where} contains no valid PEM certificate; add one.`);
}

function tlsProblem(message: string): DatabaseProblem {
  return new DatabaseProblem("tlsFailed", message);
}
