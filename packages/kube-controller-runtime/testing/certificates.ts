import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIPv4 } from "node:net";

/** A certificate and its private key, in PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Issues certificates that are valid for clients that trust `cert`. */
export interface CertificateAuthority extends Certificate {
  /** Issues a server certificate for host names and IPv4 addresses. */
  issue(names: readonly string[], validity?: Validity): Certificate;
}

interface Validity {
  readonly from: Date;
  readonly to: Date;
}

const DAY_MS = 24 * 60 * 60 * 1_000;
const ECDSA_WITH_SHA256 = "1.2.840.10045.4.3.2";
const COMMON_NAME = "2.5.4.3";
const BASIC_CONSTRAINTS = "2.5.29.19";
const SUBJECT_ALT_NAME = "2.5.29.17";

/** Creates a CA for one test run with Node.js only: the keys are never stored. */
export function createCertificateAuthority(name = "Test CA"): CertificateAuthority {
  const keys = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const issuer = { name, key: keys.privateKey };
  const isCa = extension(BASIC_CONSTRAINTS, sequence(tlv(0x01, Buffer.from([0xff]))));
  return {
    ...certificate({ subject: name, publicKey: keys.publicKey, extensions: [isCa] }, issuer),
    key: pem(keys.privateKey),
    issue(names, validity) {
      const leaf = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
      const alternatives = extension(SUBJECT_ALT_NAME, sequence(...names.map(alternativeName)));
      const subject = { subject: names[0] ?? "", publicKey: leaf.publicKey, extensions: [alternatives] };
      return { ...certificate(subject, issuer, validity), key: pem(leaf.privateKey) };
    },
  };
}

function certificate(
  { subject, publicKey, extensions }: { subject: string; publicKey: KeyObject; extensions: Buffer[] },
  issuer: { name: string; key: KeyObject },
  validity: Validity = { from: new Date(Date.now() - DAY_MS), to: new Date(Date.now() + DAY_MS) },
): { cert: string } {
  const algorithm = sequence(objectId(ECDSA_WITH_SHA256));
  const body = sequence(
    tlv(0xa0, tlv(0x02, Buffer.from([2]))),
    tlv(0x02, Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    distinguishedName(issuer.name),
    sequence(time(validity.from), time(validity.to)),
    distinguishedName(subject),
    publicKey.export({ type: "spki", format: "der" }),
    tlv(0xa3, sequence(...extensions)),
  );
  const signature = sign("sha256", body, issuer.key);
  const der = sequence(body, algorithm, tlv(0x03, Buffer.from([0]), signature));
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return { cert: `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n` };
}

function pem(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}

function extension(oid: string, value: Buffer): Buffer {
  return sequence(objectId(oid), tlv(0x04, value));
}

function alternativeName(name: string): Buffer {
  if (isIPv4(name)) return tlv(0x87, Buffer.from(name.split(".").map(Number)));
  return tlv(0x82, Buffer.from(name, "ascii"));
}

function distinguishedName(commonName: string): Buffer {
  return sequence(tlv(0x31, sequence(objectId(COMMON_NAME), tlv(0x0c, Buffer.from(commonName)))));
}

function time(date: Date): Buffer {
  const text = `${date.toISOString().replace(/[-:T]/g, "").slice(0, 14)}Z`;
  return tlv(0x18, Buffer.from(text, "ascii"));
}

function objectId(oid: string): Buffer {
  const [first = 0, second = 0, ...rest] = oid.split(".").map(Number);
  return tlv(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(value: number): number[] {
  const digits = [value & 0x7f];
  for (let left = value >> 7; left > 0; left >>= 7) digits.unshift((left & 0x7f) | 0x80);
  return digits;
}

function sequence(...parts: Buffer[]): Buffer {
  return tlv(0x30, ...parts);
}

function tlv(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), length(content.length), content]);
}

function length(size: number): Buffer {
  if (size < 0x80) return Buffer.from([size]);
  if (size < 0x100) return Buffer.from([0x81, size]);
  return Buffer.from([0x82, size >> 8, size & 0xff]);
}
