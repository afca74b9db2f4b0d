import type { ConnectionOptions } from "node:tls";
import { readableCertificates, trustedBesidesSystem } from "../certificates.ts";
import type { ConnectionSettings } from "./connection-url.ts";
import { DatabaseProblem } from "./failure.ts";

/** How to encrypt one attempt to connect: TLS options, or `false` for a plain connection. */
export type Encryption = ConnectionOptions | false;

/** At least one way to connect, the preferred one first. */
export type EncryptionAttempts = readonly [Encryption, ...Encryption[]];

export interface TlsFiles {
  /** Reads a file that a connection URL names, as coderd's pod has it; `undefined` when there is none. */
  readonly readFile: (path: string) => Promise<string | undefined>;
  /** PEM certificates that coderd trusts besides the system's. */
  readonly ca?: string | undefined;
}

/**
 * What to try, in order, for a libpq `sslmode`. `allow` and `prefer` fall back to the other way; `require`
 * encrypts without asking who answers, unless a root certificate is given; `verify-ca` checks the chain and
 * `verify-full` the host name too.
 */
export async function encryptionAttempts(
  settings: ConnectionSettings,
  files: TlsFiles,
): Promise<EncryptionAttempts> {
  switch (settings.sslMode) {
    case "disable":
      return [false];
    case "allow":
      return [false, await unverified(settings, files)];
    case "prefer":
      return [await unverified(settings, files), false];
    case "require":
      return [
        settings.sslRootCert ? await verified(settings, files, "chain") : await unverified(settings, files),
      ];
    case "verify-ca":
      return [await verified(settings, files, "chain")];
    case "verify-full":
      return [await verified(settings, files, "name")];
  }
}

async function unverified(settings: ConnectionSettings, files: TlsFiles): Promise<ConnectionOptions> {
  return { rejectUnauthorized: false, ...(await clientCertificate(settings, files)) };
}

async function verified(
  settings: ConnectionSettings,
  files: TlsFiles,
  what: "chain" | "name",
): Promise<ConnectionOptions> {
  const ca = await rootCertificates(settings, files);
  return {
    rejectUnauthorized: true,
    ...(ca ? { ca } : {}),
    ...(what === "chain" ? { checkServerIdentity: () => undefined } : {}),
    ...(await clientCertificate(settings, files)),
  };
}

/** A root certificate stands alone, as libpq has it; otherwise the system's count, and those of coderd. */
async function rootCertificates(
  { sslRootCert }: ConnectionSettings,
  files: TlsFiles,
): Promise<string[] | undefined> {
  if (sslRootCert && sslRootCert !== "system")
    return pem(readableCertificates(await read("sslrootcert", sslRootCert, files)), "sslrootcert");
  if (!files.ca || sslRootCert === "system") return undefined;
  return pem(trustedBesidesSystem(files.ca), "the CA certificates");
}

async function clientCertificate({ sslCert, sslKey }: ConnectionSettings, files: TlsFiles) {
  if (!sslCert || !sslKey) return {};
  return { cert: await read("sslcert", sslCert, files), key: await read("sslkey", sslKey, files) };
}

async function read(parameter: string, path: string, files: TlsFiles): Promise<string> {
  const content = await files.readFile(path);
  if (content !== undefined) return content;
  throw tlsProblem(
    `the file that the connection URL's ${parameter} names is not among coderd's certificates`,
  );
}

function pem(certificates: string[] | undefined, where: string): string[] {
  if (certificates) return certificates;
  throw tlsProblem(`${where} holds no readable PEM certificate`);
}

function tlsProblem(message: string): DatabaseProblem {
  return new DatabaseProblem({ kind: "tlsFailed", message });
}
