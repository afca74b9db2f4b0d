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
 * Under which name coderd is asked inside the cluster. Connections always go to its Service. Where its certificate is
 * valid only for the access URL, or where coderd redirects to that, it is asked by that name: the operator checks the
 * certificate for it, and pods find it mapped to the address of the Service.
 */

/** The variable by which coderd learns its own URL. Where the user sets it, ours stays out. */
export const accessURLVariable = "CODER_ACCESS_URL";
const redirectVariable = "CODER_REDIRECT_TO_ACCESS_URL";
export const addressVariables = [accessURLVariable, redirectVariable];

/** The name to ask coderd by. `unknown`: what decides that can't be read at the moment. */
type AskedBy = "service" | AskedURL | "unknown";

interface AskedURL {
  readonly url: URL;
  /** Host and port as the user wrote them: coderd compares that text. */
  readonly authority: string;
  /** Whether coderd sends everybody there who asks by another name or port. */
  readonly redirects: boolean;
}

/** How the pods of provisioners and workspace proxies reach coderd. */
export interface PodsWay {
  readonly url: string;
  readonly hostAliases: readonly HostAlias[];
}

/** The Secrets or ConfigMaps that decide, beside the certificates that coderd serves. */
export function addressSources(kind: "Secret" | "ConfigMap", { pod }: ControlPlane): string[] {
  return variableSources(kind, addressVariables, pod);
}

/** The URL that the user gave coderd, else that of its exposure if the spec says so, else that of its Service. */
export function accessURLOf(controlPlane: ControlPlane, sources: Sources, clusterDomain: string): string {
  const users = usersAccessURL(controlPlane, sources);
  return users ?? chosenURL(controlPlane) ?? clusterAccessURL(controlPlane, clusterDomain);
}

/** What the user's environment says, as far as it can be read. */
export function usersAccessURL({ pod }: ControlPlane, sources: Sources): string | undefined {
  const users = variableValue(accessURLVariable, pod, sources);
  return users.kind === "value" ? trimmed(users.value) : undefined;
}

/** The URL that the exposure gives coderd, where `setAccessURL` asks for that. */
export function chosenURL({ exposure, setAccessURL }: ControlPlane): string | undefined {
  return setAccessURL ? exposedURL(exposure) : undefined;
}

/** The host of the access URL, where the operator has to ask by it. */
export function accessHostFor(
  controlPlane: ControlPlane,
  sources: Sources,
  clusterDomain: string,
): string | undefined {
  const asked = askedBy(controlPlane, sources, clusterDomain);
  return typeof asked === "object" ? asked.authority : undefined;
}

/** How daemons reach coderd; `undefined` while that is not known. An address that the spec gives is theirs as it is. */
export function wayOfDaemons(
  { settings, clusterIP }: { readonly settings: ControlPlane; readonly clusterIP: string | undefined },
  sources: Sources,
  clusterDomain: string,
): PodsWay | undefined {
  if (settings.internalURL) return { url: settings.internalURL, hostAliases: [] };
  const asked = askedBy(settings, sources, clusterDomain);
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
 * The names that a workspace proxy needs mapped to dial the access URL; `undefined` while that is not known. Where the
 * spec says how coderd is reached from outside, that way may have a certificate of its own: then DNS finds it.
 */
export function aliasesOfProxies(
  { settings, clusterIP }: { readonly settings: ControlPlane; readonly clusterIP: string | undefined },
  sources: Sources,
  clusterDomain: string,
): readonly HostAlias[] | undefined {
  const asked = askedBy(settings, sources, clusterDomain);
  if (asked === "unknown" || (asked !== "service" && !clusterIP)) return undefined;
  const isPublished = settings.exposure.kind !== "none" || settings.service.type !== serviceDefaults.type;
  return asked === "service" || isPublished ? [] : asServed(asked, settings, clusterIP);
}

/** The access URL as it is, mapped to the Service unless that does not have its port. */
function asServed({ url }: AskedURL, { service }: ControlPlane, ip: string | undefined): HostAlias[] {
  const { port, impliedPort } = endpoint(service);
  return Number(url.port || impliedPort) === port ? mapped(url.hostname, ip) : [];
}

function mapped(hostname: string, ip: string | undefined): HostAlias[] {
  return ip && isMappable(hostname) ? [{ ip, hostnames: [hostname] }] : [];
}

/** Kubernetes takes only names that an object may have. */
function isMappable(hostname: string): boolean {
  return (
    hostname.length <= nameLength &&
    /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/.test(hostname)
  );
}

function askedBy(controlPlane: ControlPlane, sources: Sources, clusterDomain: string): AskedBy {
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

/** Host and port of a URL, in its own spelling as long as that is one for a header. */
function authorityOf(url: string): string | undefined {
  return /^https?:\/\/(?:[^/?#@]*@)?([a-z0-9._:-]+)(?=[/?#]|$)/i.exec(url)?.[1];
}

/** No name can be mapped to an address. */
function isAddress(hostname: string): boolean {
  return isIP(hostname.replace(/^\[|\]$/g, "")) !== 0;
}

/** As coderd reads a flag. */
function isSet(variable: ReturnType<typeof variableValue>): boolean {
  return variable.kind === "value" && /^(1|t|true)$/i.test(variable.value.trim());
}
