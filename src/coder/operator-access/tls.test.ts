import { createCertificateAuthority } from "kube-controller-runtime/testing";
import { describe, expect, it } from "vitest";
import { parseConnectionUrl } from "./connection-url.ts";
import { DatabaseProblem } from "./failure.ts";
import { encryptionAttempts } from "./tls.ts";

const { cert } = createCertificateAuthority();
const FILES: Record<string, string> = {
  "/ca.crt": cert,
  "/client.crt": "C",
  "/client.key": "K",
  "/bad": "x",
};

async function attempts(query: string, ca?: string) {
  const settings = parseConnectionUrl(`postgres://u:p@h/d?${query}`);
  if (!settings.ok) throw new Error(settings.failure);
  return encryptionAttempts(settings.value, { ca: async () => ca, readFile: async (path) => FILES[path] });
}

const unread = async (): Promise<string> => {
  throw new Error("unexpected read");
};

async function problem(query: string, ca?: string): Promise<string> {
  const error = await attempts(query, ca).catch((thrown: unknown) => thrown);
  if (!(error instanceof DatabaseProblem)) throw new Error("accepted");
  expect(error.failure.kind).toBe("tlsFailed");
  return error.failure.message;
}

const UNVERIFIED = { rejectUnauthorized: false };
const CHAIN = { rejectUnauthorized: true, checkServerIdentity: expect.any(Function) };

describe("the ways to connect", () => {
  it.each([
    ["disable", [false]],
    ["allow", [false, UNVERIFIED]],
    ["prefer", [UNVERIFIED, false]],
    ["require", [UNVERIFIED]],
    ["verify-ca", [CHAIN]],
    ["verify-full", [{ rejectUnauthorized: true }]],
  ])("for sslmode=%s are libpq's", async (mode, expected) => {
    expect(await attempts(`sslmode=${mode}`)).toEqual(expected);
  });

  it.each(["disable", "allow", "prefer", "require", "verify-full&sslrootcert=/ca.crt"])(
    "for sslmode=%s need no authorities, which are not even read",
    async (mode) => {
      const settings = parseConnectionUrl(`postgres://u:p@h/d?sslmode=${mode}`);
      if (!settings.ok) throw new Error(settings.failure);
      const files = { ca: unread, readFile: async (path: string) => FILES[path] };
      await expect(encryptionAttempts(settings.value, files)).resolves.not.toHaveLength(0);
    },
  );

  it("for require check the chain once a root certificate is given, as libpq does", async () => {
    expect(await attempts("sslmode=require&sslrootcert=/ca.crt")).toEqual([{ ...CHAIN, ca: [cert.trim()] }]);
  });

  it("trust only a given root certificate, or coderd's and the system's", async () => {
    const [given] = await attempts("sslmode=verify-full&sslrootcert=/ca.crt", "unused");
    expect(given).toMatchObject({ ca: [cert.trim()] });
    expect(await attempts("sslmode=verify-full", cert)).toEqual([
      { rejectUnauthorized: true, ca: [cert.trim()] },
      { rejectUnauthorized: true },
    ]);
    const [system] = await attempts("sslmode=verify-full&sslrootcert=system", cert);
    expect(system).not.toHaveProperty("ca");
  });

  it.each(["/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/cert.pem"])(
    "take %s, which the image has and no volume, for the system's authorities",
    async (path) => {
      const [system, ...others] = await attempts(`sslmode=verify-full&sslrootcert=${path}`, cert);
      expect([system, others]).toEqual([{ rejectUnauthorized: true }, []]);
    },
  );

  it("show a client certificate when one is named", async () => {
    const [first] = await attempts("sslmode=require&sslcert=/client.crt&sslkey=/client.key");
    expect(first).toEqual({ ...UNVERIFIED, cert: "C", key: "K" });
  });

  it("are none if a named file is missing or contains no certificate", async () => {
    expect(await problem("sslmode=verify-full&sslrootcert=/none")).toContain("sslrootcert");
    expect(await problem("sslmode=require&sslcert=/none&sslkey=/client.key")).toContain("sslcert");
    expect(await problem("sslmode=verify-ca&sslrootcert=/bad")).toContain("no valid PEM");
    expect(await problem("sslmode=verify-ca", "nonsense")).toContain("no valid PEM");
  });
});
