import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ConnectionSettings, parseConnectionUrl, SSL_MODES } from "./connection-url.ts";

function settings(url: string): ConnectionSettings {
  const result = parseConnectionUrl(url);
  if (!result.ok) throw new Error(result.failure);
  return result.value;
}

function problem(url: string): string {
  const result = parseConnectionUrl(url);
  if (result.ok) throw new Error("accepted");
  return result.failure;
}

describe("a connection URL", () => {
  it("gives host, port, user, password and database", () => {
    expect(settings("postgres://coder:p%40ss%2Fword@db.prod:6432/coder_db")).toMatchObject({
      host: "db.prod",
      port: 6432,
      user: "coder",
      password: "p@ss/word",
      database: "coder_db",
    });
  });

  it("has libpq's defaults: port 5432, the user's own database, TLS where offered", () => {
    expect(settings("postgresql://coder@db\n")).toMatchObject({
      port: 5432,
      database: "coder",
      password: "",
      sslMode: "prefer",
      connectTimeoutMs: 5_000,
      options: undefined,
    });
  });

  it("may have an unencoded comma in the password, which does not separate hosts", () => {
    expect(settings("postgres://u:p,ss,word@db/coder")).toMatchObject({ password: "p,ss,word", host: "db" });
    expect(problem("postgres://u:p,ss@db1,db2/coder")).toContain("several hosts");
  });

  it("may have an at sign in a parameter, and one in the password", () => {
    expect(settings("postgres://h/d?user=me@server")).toMatchObject({ host: "h", user: "me@server" });
    expect(settings("postgres://u:p@ss@h/d")).toMatchObject({ host: "h", password: "p@ss" });
  });

  it("may give any part as a parameter, which then wins", () => {
    const url = "postgres://a:b@c:1/d?user=u&password=p&host=h&port=2&dbname=n";
    expect(settings(url)).toMatchObject({ user: "u", password: "p", host: "h", port: 2, database: "n" });
  });

  it("may have an IPv6 address or a socket directory for host", () => {
    expect(settings("postgres://u@[::1]:5433/d").host).toBe("::1");
    expect(settings("postgres://u@/d?host=/run/postgresql").host).toBe("/run/postgresql");
  });

  it.each(SSL_MODES)("may have sslmode=%s", (mode) => {
    expect(settings(`postgres://u@h/d?sslmode=${mode}`).sslMode).toBe(mode);
  });

  it("may name certificate files and direct TLS", () => {
    const url = "postgres://u@h/d?sslrootcert=/ca.crt&sslcert=/c.crt&sslkey=/c.key&sslnegotiation=direct";
    expect(settings(url)).toMatchObject({
      sslRootCert: "/ca.crt",
      sslCert: "/c.crt",
      sslKey: "/c.key",
      directTls: true,
    });
  });

  it("may set the session's options and search path", () => {
    const url = "postgres://u@h/d?options=-c%20geqo%3Doff&search_path=coder,%20public";
    expect(settings(url).options).toBe("-c geqo=off -c search_path=coder,\\ public");
  });

  it.each([
    ["3", 3_000],
    ["0", 5_000],
    ["soon", 5_000],
    ["600", 10_000],
  ])("has a limit for connecting with connect_timeout=%s", (seconds, ms) => {
    expect(settings(`postgres://u@h/d?connect_timeout=${seconds}`).connectTimeoutMs).toBe(ms);
  });

  it.each([
    ["mysql://u:s3cret@h/d", /must start with postgres:\/\//],
    ["host=h user=u password=s3cret", /must start with postgres:\/\//],
    ["", /must start with postgres:\/\//],
    ["postgres://u:s3cret@h1:1,h2:2/d", /several hosts/],
    ["postgres://u:s3cret@h1,h2/d", /several hosts/],
    ["postgres://u:s3cret@/d?host=h1,h2", /several hosts/],
    ["postgres://u:s3cret@h:port/d", /malformed/],
    ["postgres://u:s3cret@h:99999/d", /malformed/],
    ["postgres://u:s3cret@h/d?port=0", /port .* is not valid/],
    ["postgres://u:s3cret%@h/d", /percent-encoding/],
    ["postgres://h/s3cret", /contains no user/],
    ["postgres://u:p@s3cret#word@h:5432/d", /credentials .* contain a special character.*%23/],
    ["postgres://u:7/s3cret@h:5432/d", /credentials .* contain a special character.*%2F/],
    ["postgres://u:7?s3cret@h:5432/d", /credentials .* contain a special character.*%3F/],
    [
      "postgres://u:s3cret@h/d?sslmode=maybe-s3cret",
      /sslmode in the connection URL is not one of disable, allow/,
    ],
  ])("is refused with a reason that quotes nothing: %s", (url, reason) => {
    expect(problem(url)).toMatch(reason);
    expect(problem(url)).not.toContain("s3cret");
  });

  it("gives back any password that was percent-encoded", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: "grapheme" }), (password) => {
        const url = `postgres://u:${encodeURIComponent(password)}@h/d`;
        expect(settings(url).password).toBe(password);
      }),
    );
  });
});
