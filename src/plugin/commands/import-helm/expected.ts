/** An expected difference and its reason. */
export interface Expected {
  /** Matches the kind and the path, as in `Deployment spec.replicas`. */
  readonly where: RegExp;
  /** The same as text for the documentation. */
  readonly shows: string;
  readonly because: string;
  /** What the value must match for the reason to apply; an absent value is an empty string. */
  readonly before?: RegExp;
  readonly after?: RegExp;
}

/** The value of a field on both sides, as far as it may be shown. */
export interface Sides {
  readonly before: string | undefined;
  readonly after: string | undefined;
}

const POD = String.raw`^Deployment spec\.template\.spec`;
const CONTAINER = String.raw`${POD}\.containers\[0\]`;
const ABSENT = /^$/;

function variable(names: string): RegExp {
  return new RegExp(String.raw`${CONTAINER}\.env\[(${names})\]`);
}

/** Every difference between the objects of the charts and those of the operator for the same settings. */
export const expected: readonly Expected[] = [
  {
    where:
      /(labels|matchLabels|selector)\.(helm\.sh\/chart|app\.kubernetes\.io\/(name|instance|managed-by|part-of|version))$/,
    shows: "labels, selectors",
    because: "Labels identify the owner of an object, and selectors match pods by them.",
  },
  {
    where: /^(Service|ServiceAccount|Ingress|Role|RoleBinding) metadata\.labels\./,
    before: ABSENT,
    shows: "labels of all but the Deployment",
    because: "`labels` applies to every object here, and only to the Deployment in the charts.",
  },
  {
    where: /^(Role|RoleBinding) (metadata\.(name|labels|annotations)|roleRef\.name)/,
    shows: "names of Role and RoleBinding",
    because:
      "They contain a hash of the object, because control planes may share a namespace for workspaces.",
  },
  {
    where:
      /^(Deployment|Service|Ingress|ServiceAccount) metadata\.name$|\.serviceAccountName$|^RoleBinding subjects\[0\]\.name$/,
    after: /^(provisioner-|wsproxy-)|-provisioner$/,
    shows: "names of daemons' and proxies' objects",
    because: "They have different names, so old and new can run side by side.",
  },
  {
    where: new RegExp(String.raw`${CONTAINER}\.name$`),
    after: /^(provisioner|workspace-proxy)$/,
    shows: "`containers[0].name`",
    because: "A container is named after what it runs.",
  },
  {
    where: /podAffinityTerm\.labelSelector\.(matchExpressions|matchLabels)/,
    shows: "`affinity.podAntiAffinity…labelSelector`",
    because: "`presets.antiAffinity` selects by the operator's labels.",
  },
  {
    where: /^(ServiceAccount|Role|RoleBinding)$|\.serviceAccountName$/,
    before: /./,
    after: ABSENT,
    shows: "ServiceAccount, Role and RoleBinding of a proxy",
    because: "A proxy does not use the Kubernetes API, so it has no permissions.",
  },
  {
    where: new RegExp(
      String.raw`${CONTAINER}\.ports\[http\]\.containerPort$|${variable("CODER_DERP_SERVER_RELAY_URL").source}`,
    ),
    shows: "`ports[http]`, `env[CODER_DERP_SERVER_RELAY_URL]` of a proxy",
    because: "A proxy listens on port 3001.",
  },
  {
    where: new RegExp(String.raw`${CONTAINER}\.command\[0\]$`),
    before: /^\/opt\/coder$/,
    after: ABSENT,
    shows: "`containers[0].command`",
    because: "The image's entrypoint is `/opt/coder server`.",
  },
  {
    where: new RegExp(
      String.raw`${CONTAINER}\.args\[(server|--http-address=0\.0\.0\.0:\d+)\]$|${variable("CODER_HTTP_ADDRESS").source}`,
    ),
    shows: "`containers[0].args`, `env[CODER_HTTP_ADDRESS]`",
    because: "The address is an argument here. The arguments of `coder.commandArgs` follow it.",
  },
  {
    where: variable("CODER_PROMETHEUS_ADDRESS|CODER_PPROF_ADDRESS"),
    after: ABSENT,
    shows: "`env[CODER_PROMETHEUS_ADDRESS]`, `env[CODER_PPROF_ADDRESS]`",
    because: "They have no effect unless metrics or profiles are enabled; in that case they are copied.",
  },
  {
    where: new RegExp(String.raw`${CONTAINER}\.ports\[prometheus-http\]`),
    after: ABSENT,
    shows: "`ports[prometheus-http]`",
    because: "The name of a port does not open it. Use `portNumber: 2112` in a PodMonitor.",
  },
  {
    where: /^ServiceAccount metadata\.labels\./,
    after: ABSENT,
    shows: "labels of only the ServiceAccount",
    because: "`labels` applies to every object, including the ServiceAccount.",
  },
  {
    where: new RegExp(String.raw`${CONTAINER}\.ports\[cluster\]|${variable("CODER_CLUSTER_HOST").source}`),
    shows: "`env[CODER_CLUSTER_HOST]`, `ports[cluster]`",
    because: "Replicas of coderd exchange messages on this port after Coder 2.36; a proxy does not.",
  },
  {
    where: /^Deployment spec\.template\.metadata\.annotations\.app\.kubernetes\.io\/component$/,
    after: ABSENT,
    shows: "annotation `app.kubernetes.io/component` of pods",
    because: "The label `app.kubernetes.io/name` identifies the component.",
  },
  {
    where: new RegExp(String.raw`${CONTAINER}\.livenessProbe\.`),
    after: ABSENT,
    shows: "`containers[0].livenessProbe`",
    because: "It would restart coderd during a long migration. It is kept if the values set a delay.",
  },
  {
    where: /^Service spec\.ports\[\w+\]\.targetPort$/,
    shows: "`targetPort` of the Service",
    because: "The same port, by its number instead of its name.",
  },
  {
    where: /^Service spec\.ports\[\w+\]\.nodePort$/,
    before: /./,
    after: ABSENT,
    shows: "`nodePort` of the Service",
    because: "Kubernetes assigned it, and keeps it when the Service is handed over.",
  },
  {
    where: /^Ingress spec\.rules\[.*\]\.backend\.service\.port\.(name|number)$/,
    shows: "`backend.service.port` of the Ingress",
    because: "The same port, by its number instead of its name.",
  },
  {
    where: /^Ingress spec\.rules\[.*\]\.backend\.service\.name$/,
    after: /^wsproxy-/,
    shows: "`backend.service.name` of a proxy's Ingress",
    because: "A proxy's Service has a different name.",
  },
  {
    where: /^Service$/,
    before: ABSENT,
    shows: "Service, with `coder.service.enable: false`",
    because: "The operator connects to coderd through the Service, so the Service always exists.",
  },
  {
    where: variable(
      "CODER_PROVISIONER_DAEMON_KEY|CODER_PROVISIONER_DAEMON_PSK|CODER_PROVISIONERD_TAGS|CODER_ORGANIZATION",
    ),
    shows:
      "`env[CODER_PROVISIONER_DAEMON_KEY]`, `…_PSK`, `env[CODER_PROVISIONERD_TAGS]`, `env[CODER_ORGANIZATION]` of daemons",
    because: "The operator creates its own key with the tags and the organization.",
  },
  {
    where: variable("CODER_PROVISIONER_DAEMON_NAME"),
    before: ABSENT,
    shows: "`env[CODER_PROVISIONER_DAEMON_NAME]`",
    because: "A daemon is named after its pod, so the operator can match builds to pods.",
  },
  {
    where: /^Deployment spec\.template\.spec\.readinessGates\[/,
    before: ABSENT,
    shows: "`readinessGates` of daemons",
    because: "A rollout keeps the old daemons until coderd lists the new ones.",
  },
  {
    where: /^Deployment spec\.template\.metadata\.annotations\.checksum\//,
    before: ABSENT,
    shows: "annotation `checksum/…` of pods",
    because: "A new key or token replaces the pods.",
  },
];

/** Why a difference is expected; absent if no reason is known. */
export function expectedBecause(where: string, { before = "", after = "" }: Sides): string | undefined {
  const holds = (one: Expected) =>
    one.where.test(where) && (one.before?.test(before) ?? true) && (one.after?.test(after) ?? true);
  return expected.find(holds)?.because;
}
