import { describe, expect, test } from "vitest";
import type { SecretKey } from "../normalize.ts";
import { authoritiesOf, servingTls, trustedAuthorities } from "./certificates.ts";

describe("served certificates", () => {
  test("no Secret, no TLS", () => {
    expect(servingTls([])).toEqual({ env: [], ports: [], volumes: [], volumeMounts: [] });
  });

  test("one Secret", () => {
    expect(servingTls(["coder-tls"])).toEqual({
      env: [
        { name: "CODER_TLS_ENABLE", value: "true" },
        { name: "CODER_TLS_ADDRESS", value: "0.0.0.0:8443" },
        { name: "CODER_TLS_CERT_FILE", value: "/etc/ssl/certs/coder/coder-tls/tls.crt" },
        { name: "CODER_TLS_KEY_FILE", value: "/etc/ssl/certs/coder/coder-tls/tls.key" },
      ],
      ports: [{ name: "https", containerPort: 8443, protocol: "TCP" }],
      volumes: [{ name: "tls-coder-tls", secret: { secretName: "coder-tls" } }],
      volumeMounts: [{ name: "tls-coder-tls", mountPath: "/etc/ssl/certs/coder/coder-tls", readOnly: true }],
    });
  });

  test("several Secrets are joined by commas, in the order given", () => {
    const { env, volumeMounts } = servingTls(["b", "a"]);
    expect(env.slice(2)).toEqual([
      {
        name: "CODER_TLS_CERT_FILE",
        value: "/etc/ssl/certs/coder/b/tls.crt,/etc/ssl/certs/coder/a/tls.crt",
      },
      {
        name: "CODER_TLS_KEY_FILE",
        value: "/etc/ssl/certs/coder/b/tls.key,/etc/ssl/certs/coder/a/tls.key",
      },
    ]);
    expect(volumeMounts.map(({ name }) => name)).toEqual(["tls-b", "tls-a"]);
  });
});

const s = (count: number) => "s".repeat(count);

test.each([
  ["a label", "coder-tls", "tls-coder-tls"],
  ["a name with a dot", "my.secret", "tls-my-secret-90efd06a"],
  ["the longest name that fits", s(59), `tls-${s(59)}`],
  ["a name one too long", s(60), `tls-${s(50)}-3c4a9ce2`],
])("the volume of %s is a DNS label", (_case, secretName, expected) => {
  const { volumes, volumeMounts } = servingTls([secretName]);
  expect(volumes).toEqual([{ name: expected, secret: { secretName } }]);
  expect(volumeMounts[0]).toEqual({
    name: expected,
    mountPath: `/etc/ssl/certs/coder/${secretName}`,
    readOnly: true,
  });
  expect(expected.length).toBeLessThanOrEqual(63);
});

test("a volume name does not end in two dashes where the cut meets one", () => {
  const { volumes } = trustedAuthorities([{ name: `${s(45)}-${s(30)}`, key: "ca.crt" }]);
  expect(volumes[0]?.name).toBe(`ca-cert-${s(45)}-fe54b300`);
});

describe("trusted authorities", () => {
  const mounted = (authorities: SecretKey[]) =>
    trustedAuthorities(authorities).volumeMounts.map(({ mountPath, subPath }) => [mountPath, subPath]);

  test("one key of one Secret", () => {
    expect(trustedAuthorities([{ name: "company-ca", key: "ca.crt" }])).toEqual({
      volumes: [{ name: "ca-cert-company-ca", secret: { secretName: "company-ca" } }],
      volumeMounts: [
        {
          name: "ca-cert-company-ca",
          mountPath: "/etc/ssl/certs/company-ca.crt",
          subPath: "ca.crt",
          readOnly: true,
        },
      ],
    });
  });

  test("a Secret with a dotted name", () => {
    const { volumes, volumeMounts } = trustedAuthorities([{ name: "company.ca", key: "ca.crt" }]);
    expect(volumes[0]?.name).toBe("ca-cert-company-ca-916c2a11");
    expect(volumeMounts[0]?.mountPath).toBe("/etc/ssl/certs/company.ca.crt");
  });

  test("several keys of a Secret share its volume, and their files carry the key, with one .crt", () => {
    const authorities = [
      { name: "company", key: "root.crt" },
      { name: "company", key: "issuing.pem" },
    ];
    expect(trustedAuthorities(authorities).volumes).toHaveLength(1);
    expect(mounted(authorities)).toEqual([
      ["/etc/ssl/certs/company-root.crt", "root.crt"],
      ["/etc/ssl/certs/company-issuing.pem.crt", "issuing.pem"],
    ]);
  });

  test("a file name that is taken is numbered, past numbers that are taken too", () => {
    expect(
      mounted([
        { name: "a-b", key: "ca.crt" },
        { name: "a", key: "b" },
        { name: "a", key: "b.crt" },
      ]),
    ).toEqual([
      ["/etc/ssl/certs/a-b.crt", "ca.crt"],
      ["/etc/ssl/certs/a-b-2.crt", "b"],
      ["/etc/ssl/certs/a-b-3.crt", "b.crt"],
    ]);
    expect(
      mounted([
        { name: "a-b-2", key: "ca.crt" },
        { name: "a-b", key: "ca.crt" },
        { name: "a", key: "b" },
        { name: "a", key: "x" },
      ]).map(([path]) => path),
    ).toEqual([
      "/etc/ssl/certs/a-b-2.crt",
      "/etc/ssl/certs/a-b.crt",
      "/etc/ssl/certs/a-b-3.crt",
      "/etc/ssl/certs/a-x.crt",
    ]);
  });

  test("a spec's entries are trimmed; blank ones and repeats are dropped", () => {
    const secrets = [
      { name: " a ", key: " k " },
      { name: "a", key: "k" },
      { name: " ", key: "k" },
      { name: "b", key: "" },
    ];
    expect(authoritiesOf({ secrets })).toEqual([{ name: "a", key: "k" }]);
    expect(authoritiesOf(undefined)).toEqual([]);
  });
});
