/** A difference that has to be, and why. */
export interface Expected {
  /** Of the kind and the path, as in `Deployment spec.replicas`. */
  readonly where: RegExp;
  /** The same for people. */
  readonly shows: string;
  readonly because: string;
  /** What the side must show for the reason to hold; nothing there is an empty text. */
  readonly before?: RegExp;
  readonly after?: RegExp;
}

/** What a field is on both sides, as far as it may be shown. */
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

/** Every difference between what the charts and what the operator make of the same settings. */
export const expected: readonly Expected[] = [
  {
    where:
      /(labels|matchLabels|selector)\.(helm\.sh\/chart|app\.kubernetes\.io\/(name|instance|managed-by|part-of|version))$/,
    shows: "labels, selectors",
    because: "Labels say whose an object is, and selectors find pods by them.",
  },
  {
    where: /^(Service|ServiceAccount|Ingress|Role|RoleBinding) metadata\.labels\./,
    before: ABSENT,
    shows: "labels of all but the Deployment",
    because: "`labels` is for every object here, and for the Deployment alone in the charts.",
  },
  {
    where: /^(Role|RoleBinding) (metadata\.(name|labels|annotations)|roleRef\.name)/,
    shows: "names of Role and RoleBinding",
    because: "They carry a hash of the object, because control planes may share a namespace of workspaces.",
  },
  {
    where:
      /^(Deployment|Service|Ingress|ServiceAccount) metadata\.name$|\.serviceAccountName$|^RoleBinding subjects\[0\]\.name$/,
    after: /^(provisioner-|wsproxy-)|-provisioner$/,
    shows: "names of daemons' and proxies' objects",
    because: "They have names of their own, so old and new can run side by side.",
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
    because: "A proxy asks Kubernetes for nothing, so it gets no permissions.",
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
    because: "The address is an argument here. What `coder.commandArgs` gave follows it.",
  },
  {
    where: variable("CODER_PROMETHEUS_ADDRESS|CODER_PPROF_ADDRESS"),
    after: ABSENT,
    shows: "`env[CODER_PROMETHEUS_ADDRESS]`, `env[CODER_PPROF_ADDRESS]`",
    because: "They do nothing until metrics or profiles are turned on; then they are carried over.",
  },
  {
    where: new RegExp(String.raw`${CONTAINER}\.ports\[prometheus-http\]`),
    after: ABSENT,
    shows: "`ports[prometheus-http]`",
    because: "The name of a port opens nothing. A PodMonitor takes `portNumber: 2112`.",
  },
  {
    where: /^ServiceAccount metadata\.labels\./,
    after: ABSENT,
    shows: "labels of the ServiceAccount alone",
    because: "`labels` is for every object, and the ServiceAccount among them.",
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
    because: "The label `app.kubernetes.io/name` says what a pod runs.",
  },
  {
    where: new RegExp(String.raw`${CONTAINER}\.livenessProbe\.`),
    after: ABSENT,
    shows: "`containers[0].livenessProbe`",
    because:
      "It would restart coderd in the middle of a long migration. With a delay in the values it is kept.",
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
    because: "Kubernetes chose it, and keeps it when the Service is handed over.",
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
    because: "A proxy's Service has a name of its own.",
  },
  {
    where: /^Service$/,
    before: ABSENT,
    shows: "Service, with `coder.service.enable: false`",
    because: "The operator reaches coderd through the Service, so there always is one.",
  },
  {
    where: variable(
      "CODER_PROVISIONER_DAEMON_KEY|CODER_PROVISIONER_DAEMON_PSK|CODER_PROVISIONERD_TAGS|CODER_ORGANIZATION",
    ),
    shows:
      "`env[CODER_PROVISIONER_DAEMON_KEY]`, `…_PSK`, `env[CODER_PROVISIONERD_TAGS]`, `env[CODER_ORGANIZATION]` of daemons",
    because: "The operator makes a key of its own, with the tags and the organization.",
  },
  {
    where: variable("CODER_PROVISIONER_DAEMON_NAME"),
    before: ABSENT,
    shows: "`env[CODER_PROVISIONER_DAEMON_NAME]`",
    because: "A daemon is named after its pod, so the operator knows which pod builds what.",
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

/** Why a difference has to be; absent when no reason is known. */
export function expectedBecause(where: string, { before = "", after = "" }: Sides): string | undefined {
  const holds = (one: Expected) =>
    one.where.test(where) && (one.before?.test(before) ?? true) && (one.after?.test(after) ?? true);
  return expected.find(holds)?.because;
}
