import { type KubeObject, keyOf, kind, type Stored } from "kube-controller-runtime";
import type { CoderControlPlane, CoderWorkspaceProxy } from "../../../api/v1alpha1/kinds.ts";
import { exposureOf } from "../../../operator/workload/exposure/expose.ts";
import type { ParentReference } from "../../../operator/workload/exposure/gateway.ts";

/** A Secret with a certificate, and the object that serves it. */
export interface CertificateSecret {
  readonly namespace: string;
  readonly name: string;
  readonly servedBy: string;
}

interface Listener {
  readonly name: string;
  readonly hostname?: string;
  readonly tls?: {
    readonly certificateRefs?: readonly {
      readonly kind?: string;
      readonly name: string;
      readonly namespace?: string;
    }[];
  };
}

/** The fields of a Gateway that are read. */
export interface Gateway extends KubeObject {
  readonly spec?: { readonly listeners?: readonly Listener[] };
}

export const Gateway = kind<Gateway>("gateway.networking.k8s.io/v1", { kind: "Gateway", plural: "gateways" });

export type Exposable = Stored<CoderControlPlane> | Stored<CoderWorkspaceProxy>;

/** By `namespace/name`. */
export type Gateways = ReadonlyMap<string, Stored<Gateway>>;

interface Parent {
  readonly ref: { readonly namespace: string; readonly name: string };
  readonly sectionName: string | undefined;
  readonly hosts: readonly string[];
}

/** The Gateways that expose an object. */
export function parentsOf({ metadata: { namespace: own = "" }, spec }: Exposable): Parent[] {
  const exposure = exposureOf(spec?.expose);
  if (exposure.kind !== "gateway") return [];
  const hosts = [exposure.host, ...(exposure.wildcardHost ? [exposure.wildcardHost] : [])];
  const gateways = exposure.parentRefs.filter(({ kind = "Gateway" }) => kind === "Gateway");
  return gateways.map(({ name, namespace = own, sectionName }: ParentReference) => ({
    ref: { namespace, name },
    sectionName,
    hosts,
  }));
}

/**
 * The Secrets from which Gateways serve TLS for the hosts of an object, including those of its own
 * ListenerSet.
 */
export function gatewaySecrets(object: Exposable, gateways: Gateways): CertificateSecret[] {
  const { namespace: own = "" } = object.metadata;
  const exposure = exposureOf(object.spec?.expose);
  const set = exposure.kind === "gateway" ? exposure.listenerSet : undefined;
  const ofSet = (set?.listeners ?? []).flatMap((listener) =>
    secretsOf(listener, { namespace: own, servedBy: `Gateway ${set?.parentRef.name}` }),
  );
  const ofGateways = parentsOf(object).flatMap(({ ref, sectionName, hosts }) => {
    const listeners = gateways.get(keyOf(ref))?.spec?.listeners ?? [];
    return listeners
      .filter(({ name }) => sectionName === undefined || sectionName === name)
      .filter(({ hostname }) => hosts.some((host) => matchesHostname(host, hostname)))
      .flatMap((listener) =>
        secretsOf(listener, { namespace: ref.namespace, servedBy: `Gateway ${ref.name}` }),
      );
  });
  return [...ofSet, ...ofGateways];
}

function secretsOf({ tls }: Listener, { namespace: own, servedBy }: Omit<CertificateSecret, "name">) {
  return (tls?.certificateRefs ?? [])
    .filter(({ kind = "Secret" }) => kind === "Secret")
    .map(({ name, namespace = own }): CertificateSecret => ({ name, namespace, servedBy }));
}

/** By the rules of the Gateway API: a wildcard matches one label or more. */
function matchesHostname(host: string, hostname: string | undefined): boolean {
  if (!hostname || hostname === host) return true;
  return hostname.startsWith("*.") && host.endsWith(hostname.slice(1));
}
