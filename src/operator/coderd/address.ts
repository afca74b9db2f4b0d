import { isIP } from "node:net";
import { serviceDefaults } from "../../api/v1alpha1/defaults.ts";
import { leafCertificate } from "../../coder/certificates.ts";
import { nameLength } from "../names.ts";
import { trimmed } from "../normalize.ts";
import { type Sources, secretText } from "../sources.ts";
import { variableSources, variableValue } from "../workload/env-sources.ts";
import { exposedURL } from "../workload/exposure/expose.ts";
import { clusterAccessURL, clusterURL, endpoint, serviceHost } from "../workload/exposure/service.ts";
import type { HostAlias } from "../workload/host-aliases.ts";
import type { ControlPlane } from "./settings.ts";

/*
 * Host name for requests to coderd inside the cluster. Connections always go to its Service. If coderd's
 * certificate is valid only for the access URL, or if coderd redirects to the access URL, requests use that
 * host name: the operator verifies the certificate for it, and pods map it to the IP address of the Service.
 */

/** The variable with coderd's own URL. The operator does not set it if the user does. */
export const accessURLVariable = "CODER_ACCESS_URL";
const redirectVariable = "CODER_REDIRECT_TO_ACCESS_URL";
export const addressVariables = [accessURLVariable, redirectVariable];

/** The host name for requests. `unknown` if it depends on an object that is not readable now. */
type RequestHost = "service" | AskedURL | "unknown";

interface AskedURL {
  readonly url: URL;
  /** Host and port as written by the user, because coderd compares the text. */
  readonly authority: string;
  /** Whether coderd redirects requests for other host names or ports to it. */
  readonly redirects: boolean;
}

/** How pods of provisioners and workspace proxies connect to coderd. */
export interface CoderdAddress {
  readonly url: string;
  readonly hostAliases: readonly HostAlias[];
}

/** Secrets or ConfigMaps that determine the address, in addition to coderd's certificates. */
export function addressSources(kind: "Secret" | "ConfigMap", { pod }: ControlPlane): string[] {
  return variableSources(kind, addressVariables, pod);
}

/**
 * The URL that the user sets for coderd; otherwise that of the exposure if requested in the spec; otherwise
 * that of the Service.
 */
export function accessURLOf(controlPlane: ControlPlane, sources: Sources, clusterDomain: string): string {
  const users = userAccessURL(controlPlane, sources);
  return users ?? chosenURL(controlPlane) ?? clusterAccessURL(controlPlane, clusterDomain);
}

/** The URL in the user's environment variables, if readable. */
export function userAccessURL({ pod }: ControlPlane, sources: Sources): string | undefined {
  const users = variableValue(accessURLVariable, pod, sources);
  return users.kind === "value" ? trimmed(users.value) : undefined;
}

/** The URL of the exposure if `setAccessURL` is set. */
export function chosenURL({ exposure, setAccessURL }: ControlPlane): string | undefined {
  return setAccessURL ? exposedURL(exposure) : undefined;
}

/** The host of the access URL if the operator must use it. */
export function accessHostFor(
  controlPlane: ControlPlane,
  sources: Sources,
  clusterDomain: string,
): string | undefined {
  const asked = requestHost(controlPlane, sources, clusterDomain);
  return typeof asked === "object" ? asked.authority : undefined;
}

/**
 * How daemons connect to coderd, or `undefined` if this is unknown. They use an address in the spec
 * unchanged.
 */
export function daemonAddress(
  { settings, clusterIP }: { readonly settings: ControlPlane; readonly clusterIP: string | undefined },
  sources: Sources,
  clusterDomain: string,
): CoderdAddress | undefined {
  if (settings.internalURL) return { url: settings.internalURL, hostAliases: [] };
  const asked = requestHost(settings, sources, clusterDomain);
  if (asked === "unknown" || (asked !== "service" && !clusterIP)) return undefined;
  if (asked === "service") return { url: clusterURL(settings, clusterDomain), hostAliases: [] };
  const { scheme, port, impliedPort } = endpoint(settings.service);
  const { hostname } = asked.url;
  if (asked.redirects || !isMappable(hostname))
    return { url: `${scheme}://${asked.authority}`, hostAliases: asServed(asked, settings, clusterIP) };
  const url = port === impliedPort ? `${scheme}://${hostname}` : `${scheme}://${hostname}:${port}`;
  return { url, hostAliases: mapped(hostname, clusterIP) };
}

/**
 * Host aliases that a workspace proxy needs to connect to the access URL, or `undefined` if this is unknown.
 * If the spec exposes coderd, the exposure may have a different certificate, so DNS applies.
 */
export function aliasesOfProxies(
  { settings, clusterIP }: { readonly settings: ControlPlane; readonly clusterIP: string | undefined },
  sources: Sources,
  clusterDomain: string,
): readonly HostAlias[] | undefined {
  const asked = requestHost(settings, sources, clusterDomain);
  if (asked === "unknown" || (asked !== "service" && !clusterIP)) return undefined;
  const isPublished = settings.exposure.kind !== "none" || settings.service.type !== serviceDefaults.type;
  return asked === "service" || isPublished ? [] : asServed(asked, settings, clusterIP);
}

/** The access URL, mapped to the Service unless the Service does not have its port. */
function asServed({ url }: AskedURL, { service }: ControlPlane, ip: string | undefined): HostAlias[] {
  const { port, impliedPort } = endpoint(service);
  return Number(url.port || impliedPort) === port ? mapped(url.hostname, ip) : [];
}

function mapped(hostname: string, ip: string | undefined): HostAlias[] {
  return ip && isMappable(hostname) ? [{ ip, hostnames: [hostname] }] : [];
}

/** Kubernetes accepts only valid object names. */
function isMappable(hostname: string): boolean {
  return (
    hostname.length <= nameLength &&
    /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/.test(hostname)
  );
}

function requestHost(controlPlane: ControlPlane, sources: Sources, clusterDomain: string): RequestHost {
  const { pod, service } = controlPlane;
  const users = variableValue(accessURLVariable, pod, sources);
  if (users.kind === "missing") return "unknown";
  const text = (users.kind === "value" && trimmed(users.value)) || chosenURL(controlPlane) || "";
  const url = URL.parse(text);
  if (url?.protocol !== `${endpoint(service).scheme}:` || isAddress(url.hostname)) return "service";
  const redirects = isSet(variableValue(redirectVariable, pod, sources));
  const byURL = { url, authority: authorityOf(text) ?? url.host, redirects };
  if (!service.tls) return redirects ? byURL : "service";
  const leaves = pod.tlsSecretNames.map((name) =>
    leafCertificate(secretText(sources, { name, key: "tls.crt" })),
  );
  if (leaves.includes(undefined)) return "unknown";
  const covers = (host: string) => leaves.some((leaf) => leaf?.checkHost(host) !== undefined);
  const isNeeded = redirects || !covers(serviceHost(controlPlane, clusterDomain));
  return isNeeded && covers(url.hostname) ? byURL : "service";
}

/** Host and port of a URL as written, if they are valid in a header. */
function authorityOf(url: string): string | undefined {
  return /^https?:\/\/(?:[^/?#@]*@)?([a-z0-9._:-]+)(?=[/?#]|$)/i.exec(url)?.[1];
}

/** IP addresses cannot be mapped. */
function isAddress(hostname: string): boolean {
  return isIP(hostname.replace(/^\[|\]$/g, "")) !== 0;
}

/** Parses a boolean like coderd. */
function isSet(variable: ReturnType<typeof variableValue>): boolean {
  return variable.kind === "value" && /^(1|t|true)$/i.test(variable.value.trim());
}
