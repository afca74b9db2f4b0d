import type { TlsSpec } from "../../api/v1alpha1/common.ts";
import type { CertsSpec, PodFields, ProbeSpec } from "../../api/v1alpha1/pod.ts";
import { defined, distinctBy, distinctNames, type SecretKey } from "../normalize.ts";
import { authoritiesOf } from "./certificates.ts";
import { livenessSettings, type ProbeSettings, readinessSettings } from "./probes.ts";

/** What there may be several of. */
const listFields = [
  "command",
  "envFrom",
  "extraArgs",
  "extraEnv",
  "hostAliases",
  "imagePullSecrets",
  "initContainers",
  "tolerations",
  "topologySpreadConstraints",
  "volumeMounts",
  "volumes",
] as const satisfies readonly (keyof PodFields)[];
type ListField = (typeof listFields)[number];

type Lists = { readonly [Field in ListField]-?: NonNullable<PodFields[Field]> };

/** What the user says about pods: lists are there, if empty; the rest may be absent. */
export interface PodSettings extends Readonly<Omit<PodFields, ListField>>, Lists {
  readonly readinessProbe: ProbeSettings | undefined;
  readonly livenessProbe: ProbeSettings | undefined;
  /** Secrets with the certificates to serve; none means no TLS. */
  readonly tlsSecretNames: readonly string[];
  /** Certificate authorities to trust. */
  readonly authorities: readonly SecretKey[];
}

/** The fields about pods that the specs of our kinds have. */
interface PodSpecFields extends PodFields {
  certs?: CertsSpec;
  livenessProbe?: ProbeSpec;
  readinessProbe?: ProbeSpec;
  tls?: TlsSpec;
}

/** Whether a kind's pods are checked where the spec does not say. */
export interface ProbeDefaults {
  readonly readiness: { readonly enabled: boolean };
  readonly liveness: { readonly enabled: boolean };
}

export function podSettings(spec: PodSpecFields, probes: ProbeDefaults): PodSettings {
  const lists = Object.fromEntries(listFields.map((field) => [field, spec[field] ?? []])) as unknown as Lists;
  const pullSecrets = lists.imagePullSecrets.filter(({ name }) => name);
  return {
    ...asGiven(spec),
    ...lists,
    command: lists.command.filter(Boolean),
    imagePullSecrets: distinctBy(pullSecrets, ({ name }) => name ?? ""),
    readinessProbe: readinessSettings(spec.readinessProbe, probes.readiness),
    livenessProbe: livenessSettings(spec.livenessProbe, probes.liveness),
    tlsSecretNames: distinctNames(spec.tls?.secretNames),
    authorities: authoritiesOf(spec.certs),
  };
}

/** What is passed on as it is. */
const givenFields = [
  "affinity",
  "annotations",
  "imagePullPolicy",
  "labels",
  "lifecycle",
  "minReadySeconds",
  "nodeSelector",
  "podAnnotations",
  "podDisruptionBudget",
  "podLabels",
  "podSecurityContext",
  "presets",
  "priorityClassName",
  "resources",
  "restartOn",
  "securityContext",
  "strategy",
  "terminationGracePeriodSeconds",
] as const satisfies readonly Exclude<keyof PodFields, ListField>[];

function asGiven(spec: PodSpecFields): Omit<PodFields, ListField> {
  return defined(Object.fromEntries(givenFields.map((field) => [field, spec[field]])));
}
