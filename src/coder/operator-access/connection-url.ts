import { failed, type Result, succeeded } from "../result.ts";

export const SSL_MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const;
type SslMode = (typeof SSL_MODES)[number];

/** A connection URL taken apart. Files are paths as coderd sees them. */
export interface ConnectionSettings {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly connectTimeoutMs: number;
  /** Command-line options for the session, such as `-c search_path=coder`. */
  readonly options: string | undefined;
  readonly sslMode: SslMode;
  readonly sslRootCert: string | undefined;
  readonly sslCert: string | undefined;
  readonly sslKey: string | undefined;
  readonly directTls: boolean;
}

const DEFAULT_PORT = 5432;
const DEFAULT_CONNECT_TIMEOUT_MS = 5_000;
const MAX_CONNECT_TIMEOUT_MS = 10_000;

/** libpq takes such a URL, for a host given as a parameter or none at all; a URL parser does not. */
const USER_WITHOUT_HOST = /^([^/]*\/\/[^/?]*@)(?=[:/?]|$)/;

/**
 * Reads a connection URL the way libpq does. Parameters that only tune coderd's own sessions are ignored. The
 * failure says what is wrong without quoting any of it.
 */
export function parseConnectionUrl(text: string): Result<ConnectionSettings, string> {
  const address = text.trim();
  if (!/^postgres(ql)?:\/\//i.test(address))
    return failed("The connection URL must start with postgres:// or postgresql://.");
  if (endsInPassword(address))
    return failed(
      'The credentials in the connection URL contain a special character; percent-encode it: "#" as %23, "/" as %2F, "?" as %3F, "@" as %40.',
    );
  if (hostsOf(address).includes(","))
    return failed("The connection URL contains several hosts; set only one.");
  const url = URL.parse(address.replace(USER_WITHOUT_HOST, "$1localhost"));
  if (!url) return failed("The connection URL is malformed; percent-encode special characters in it.");
  try {
    return settingsOf(url);
  } catch {
    return failed("The connection URL has a malformed percent-encoding; correct it.");
  }
}

/**
 * Whether what a parser takes for the host is a part of the login: its end is at the first of these characters. What it
 * takes for the host must not be shown then.
 */
function endsInPassword(address: string): boolean {
  if (address.includes("#")) return true;
  const [authority = "", ...rest] = address.slice(address.indexOf("//") + 2).split(/(?=[/?])/);
  const isLogin = /^[^@]+:[^@]*$/.test(authority);
  return isLogin && /^[/?][^=]*@/.test(rest.join(""));
}

/** What stands for the host or the hosts; in the user and the password before them a comma is like any character. */
function hostsOf(address: string): string {
  const authority = address.slice(address.indexOf("//") + 2).split(/[/?]/, 1)[0] ?? "";
  return authority.slice(authority.lastIndexOf("@") + 1);
}

function settingsOf(url: URL): Result<ConnectionSettings, string> {
  const given = (name: string) => url.searchParams.get(name) || undefined;
  const user = given("user") ?? decodeURIComponent(url.username);
  const host = given("host") ?? decodeURIComponent(url.hostname).replace(/^\[|\]$/g, "");
  const port = Number(given("port") ?? (url.port || DEFAULT_PORT));
  const sslMode = given("sslmode") ?? "prefer";
  if (user === "") return failed("The connection URL contains no user; add one.");
  if (host.includes(",")) return failed("The connection URL contains several hosts; set only one.");
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    return failed("The port in the connection URL is not valid; correct it.");
  if (!isSslMode(sslMode))
    return failed(`The sslmode in the connection URL is not one of ${SSL_MODES.join(", ")}; correct it.`);
  return succeeded({
    host: host || "localhost",
    port,
    user,
    password: given("password") ?? decodeURIComponent(url.password),
    database: given("dbname") ?? (decodeURIComponent(url.pathname.slice(1)) || user),
    connectTimeoutMs: connectTimeout(given("connect_timeout")),
    options: sessionOptions(given("options"), given("search_path")),
    sslMode,
    sslRootCert: given("sslrootcert"),
    sslCert: given("sslcert"),
    sslKey: given("sslkey"),
    directTls: given("sslnegotiation") === "direct",
  });
}

function isSslMode(text: string): text is SslMode {
  return SSL_MODES.some((mode) => mode === text);
}

/** libpq counts in seconds and takes 0 for no limit, which would hold up a worker here. */
function connectTimeout(seconds: string | undefined): number {
  const ms = Number(seconds) * 1_000;
  return ms > 0 ? Math.min(ms, MAX_CONNECT_TIMEOUT_MS) : DEFAULT_CONNECT_TIMEOUT_MS;
}

function sessionOptions(options: string | undefined, searchPath: string | undefined): string | undefined {
  const path = searchPath && `-c search_path=${searchPath.replace(/[\\\s]/g, "\\$&")}`;
  return [options, path].filter(Boolean).join(" ") || undefined;
}
