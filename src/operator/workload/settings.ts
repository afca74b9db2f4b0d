import type { TlsSpec } from "../../api/v1alpha1/common.ts";
import type { CertsSpec, PodFields, ProbeSpec } from "../../api/v1alpha1/pod.ts";
import { defined, distinctBy, distinctNames, type SecretKey } from "../normalize.ts";
import { authoritiesOf } from "./certificates.ts";
import { livenessSettings, type ProbeSettings, readinessSettings } from "./probes.ts";

/** Fields with several entries. */
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

/** Pod settings of the user. Lists are never undefined; other fields may be. */
export interface PodSettings extends Readonly<Omit<PodFields, ListField>>, Lists {
  readonly readinessProbe: ProbeSettings | undefined;
  readonly livenessProbe: ProbeSettings | undefined;
  /** Secrets with serving certificates. Empty disables TLS. */
  readonly tlsSecretNames: readonly string[];
  /** Certificate authorities to trust. */
  readonly authorities: readonly SecretKey[];
}

/** The pod fields in the specs of all kinds. */
interface PodSpecFields extends PodFields {
  certs?: CertsSpec;
  livenessProbe?: ProbeSpec;
  readinessProbe?: ProbeSpec;
  tls?: TlsSpec;
}

/** Whether probes are enabled by default for a kind. */
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

/** Fields that are passed through. */
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
