/** A series by name and labels. Where there is no sample, the series does not exist at that time. */
export interface Series {
  readonly series: string;
  /** A gauge's value, or how much a counter grows in a minute, while all is well; no sample when absent. */
  readonly well?: number;
  /** The same while something is wrong. */
  readonly wrong?: number;
  readonly counter?: true;
}

/** How an alert is made to fire, and what it must not be misled by. */
export interface AlertCase {
  readonly alert: string;
  readonly series: readonly Series[];
  /** Similar harmless series, which are always present. */
  readonly harmless: readonly Series[];
  /** Of the alert, without its severity. */
  readonly labels: Readonly<Record<string, string>>;
  /** It concerns a paused object too: what it shows is not the operator's work. */
  readonly evenPaused?: true;
  /** The value in the texts, after the alert has been true for this many minutes. */
  readonly value?: (minute: number) => string;
}

export const DAY = 24 * 3600;
const scrape = 'job="coder-k8s-metrics"';
export const operator = (instance: string) => `${scrape},namespace="coder-system",instance="${instance}"`;
export const steady = (series: string, value: number): Series => ({ series, well: value, wrong: value });

interface Named {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export const plane: Named = { kind: "CoderControlPlane", namespace: "team", name: "coder" };
export const pool: Named = { kind: "CoderProvisioner", namespace: "team", name: "linux" };
export const proxy: Named = { kind: "CoderWorkspaceProxy", namespace: "team", name: "sydney" };
export const group: Named = { kind: "CoderGroup", namespace: "team", name: "engineers" };
export const other = (object: Named): Named => ({ ...object, name: "other" });

export function about(metric: string, { kind, namespace, name }: Named, more = ""): string {
  return `${metric}{${scrape},instance="a",kind="${kind}",namespace="${namespace}",name="${name}"${more}}`;
}

export function condition(object: Named, type: string, state: { status: string; reason: string }): string {
  const { status, reason } = state;
  return about(
    "coder_k8s_object_condition",
    object,
    `,condition="${type}",status="${status}",reason="${reason}"`,
  );
}

/** An object that is always paused. */
export const paused = (object: Named): Series => steady(about("coder_k8s_object_paused", object), 1);

export const replicas = (object: Named, state: "ready" | "desired") =>
  about(`coder_k8s_object_${state}_replicas`, object);
export const oldestBuild = (object: Named) => about("coder_k8s_queue_oldest_job_timestamp_seconds", object);
export const expiry = (object: Named) => about("coder_k8s_license_expiry_timestamp_seconds", object);

/** A workload that is scaled to zero has no ready pod. */
export const scaledToZero = (object: Named) => [
  steady(replicas(object, "ready"), 0),
  steady(replicas(object, "desired"), 0),
];

export function noReadyPod(alert: string, object: Named): AlertCase {
  return {
    alert,
    series: [
      { series: replicas(object, "ready"), well: 1, wrong: 0 },
      steady(replicas(object, "desired"), 1),
    ],
    harmless: scaledToZero(other(object)),
    labels: { ...object },
  };
}

/** `900000` → `10d 10h 0m 0s`, as Prometheus says it. */
function duration(seconds: number): string {
  const [days, hours, minutes] = [Math.floor(seconds / DAY), (seconds / 3600) % 24, (seconds / 60) % 60];
  return `${days}d ${Math.floor(hours)}h ${Math.floor(minutes)}m ${seconds % 60}s`;
}

/** `900` → `15m 0s`: without the units that are zero in front. */
export function briefly(seconds: number): string {
  return duration(seconds).replace(/^(0[dh] )+/, "");
}

const tier = (object: Named, name: string) => about("coder_k8s_license_tier", object, `,tier="${name}"`);
export const trial = (name: string, days: number) => [
  steady(expiry({ ...plane, name }), days * DAY),
  steady(tier({ ...plane, name }, "trial"), 1),
];

/** A term that ends in this many days. */
export function ends(metric: string, days: number): Pick<AlertCase, "series" | "labels" | "value"> {
  return {
    series: [{ series: about(metric, plane), well: 90 * DAY, wrong: days * DAY }],
    labels: { ...plane },
    value: (minute) => duration(days * DAY - minute * 60),
  };
}

/** Calls with this average duration in seconds, one per minute. */
export function slowCalls(whom: string, call: string, seconds: { well: number; wrong: number }): Series[] {
  const name = `coder_k8s_${whom}_call_duration_seconds`;
  const labels = `${operator("a")},call="${call}",result="ok"`;
  return [
    { series: `${name}_sum{${labels}}`, counter: true, ...seconds },
    { series: `${name}_count{${labels}}`, counter: true, well: 1, wrong: 1 },
  ];
}

export function seats(
  object: Named,
  { used, allowed }: { used: Omit<Series, "series">; allowed?: number },
): Series[] {
  const limit = about("coder_k8s_license_seats_allowed", object);
  return [
    { series: about("coder_k8s_license_seats_used", object), ...used },
    ...(allowed === undefined ? [] : [steady(limit, allowed)]),
  ];
}
