import { failed, type Result, succeeded } from "../result.ts";

export const SSL_MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const;
type SslMode = (typeof SSL_MODES)[number];

/** A parsed connection URL. Files are paths in coderd's pod. */
export interface ConnectionSettings {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly connectTimeoutMs: number;
  /** Command-line options of the session, such as `-c search_path=coder`. */
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

/** libpq accepts such a URL, with the host as a parameter or without a host. URL parsers reject it. */
const USER_WITHOUT_HOST = /^([^/]*\/\/[^/?]*@)(?=[:/?]|$)/;

/**
 * Parses a connection URL like libpq. Ignores parameters that only tune coderd's sessions. The failure
 * explains the problem without quoting the URL.
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
 * Whether the parsed host is part of the credentials, which end at the first of these characters. Such a host
 * must not be shown.
 */
function endsInPassword(address: string): boolean {
  if (address.includes("#")) return true;
  const [authority = "", ...rest] = address.slice(address.indexOf("//") + 2).split(/(?=[/?])/);
  const isLogin = /^[^@]+:[^@]*$/.test(authority);
  return isLogin && /^[/?][^=]*@/.test(rest.join(""));
}

/** Returns the host part. Commas in the user and the password before it have no special meaning. */
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

/** libpq uses seconds, and 0 means unlimited, which would block a worker here. */
function connectTimeout(seconds: string | undefined): number {
  const ms = Number(seconds) * 1_000;
  return ms > 0 ? Math.min(ms, MAX_CONNECT_TIMEOUT_MS) : DEFAULT_CONNECT_TIMEOUT_MS;
}

function sessionOptions(options: string | undefined, searchPath: string | undefined): string | undefined {
  const path = searchPath && `-c search_path=${searchPath.replace(/[\\\s]/g, "\\$&")}`;
  return [options, path].filter(Boolean).join(" ") || undefined;
}
