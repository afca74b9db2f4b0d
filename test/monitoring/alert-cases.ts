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
  /** What looks alike and is harmless; it is there all the time. */
  readonly harmless: readonly Series[];
  /** Of the alert, without its severity. */
  readonly labels: Readonly<Record<string, string>>;
  /** What the texts show in the place of the value, when the alert has been true for so many minutes. */
  readonly value?: (minute: number) => string;
}

const DAY = 24 * 3600;
const scrape = 'job="coder-k8s-metrics"';
const operator = (instance: string) => `${scrape},namespace="coder-system",instance="${instance}"`;
const steady = (series: string, value: number): Series => ({ series, well: value, wrong: value });

interface Named {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

const plane: Named = { kind: "CoderControlPlane", namespace: "team", name: "coder" };
const pool: Named = { kind: "CoderProvisioner", namespace: "team", name: "linux" };
const proxy: Named = { kind: "CoderWorkspaceProxy", namespace: "team", name: "sydney" };
const other = (object: Named): Named => ({ ...object, name: "other" });

function about(metric: string, { kind, namespace, name }: Named, more = ""): string {
  return `${metric}{${scrape},instance="a",kind="${kind}",namespace="${namespace}",name="${name}"${more}}`;
}

function condition(object: Named, type: string, state: { status: string; reason: string }): string {
  const { status, reason } = state;
  return about(
    "coder_k8s_object_condition",
    object,
    `,condition="${type}",status="${status}",reason="${reason}"`,
  );
}

const replicas = (object: Named, state: "ready" | "desired") =>
  about(`coder_k8s_object_${state}_replicas`, object);
const oldestBuild = (object: Named) => about("coder_k8s_queue_oldest_job_timestamp_seconds", object);
const expiry = (object: Named) => about("coder_k8s_license_expiry_timestamp_seconds", object);

/** What nobody wants to run has no ready pod. */
const scaledToZero = (object: Named) => [
  steady(replicas(object, "ready"), 0),
  steady(replicas(object, "desired"), 0),
];

function noReadyPod(alert: string, object: Named): AlertCase {
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
function briefly(seconds: number): string {
  return duration(seconds).replace(/^(0[dh] )+/, "");
}

function licenseEnds(
  alert: string,
  { days, harmlessDays }: { days: number; harmlessDays: number },
): AlertCase {
  return {
    alert,
    series: [{ series: expiry(plane), well: 90 * DAY, wrong: days * DAY }],
    harmless: [steady(expiry(other(plane)), harmlessDays * DAY)],
    labels: { ...plane },
    value: (minute) => duration(days * DAY - minute * 60),
  };
}

/** Every alert of the chart. */
export const alertCases: readonly AlertCase[] = [
  {
    alert: "CoderOperatorDown",
    series: [{ series: `up{${operator("a")}}`, well: 1, wrong: 0 }],
    harmless: [
      steady(`up{${operator("b")}}`, 0),
      steady('up{job="node-exporter",namespace="coder-system",instance="c"}', 1),
    ],
    labels: {},
  },
  {
    alert: "CoderOperatorNoLeader",
    series: [{ series: `coder_k8s_leader{${operator("a")}}`, well: 1, wrong: 0 }],
    harmless: [steady(`coder_k8s_leader{${operator("b")}}`, 0)],
    labels: {},
  },
  {
    alert: "CoderReconcileErrors",
    series: [
      {
        series: `coder_k8s_reconcile_total{${operator("a")},controller="provisioner",result="error"}`,
        counter: true,
        well: 0,
        wrong: 1,
      },
    ],
    harmless: [
      {
        series: `coder_k8s_reconcile_total{${operator("a")},controller="control-plane",result="success"}`,
        counter: true,
        well: 5,
        wrong: 5,
      },
    ],
    labels: { controller: "provisioner" },
  },
  {
    alert: "CoderQueueBacklog",
    series: [
      { series: `workqueue_depth{${operator("a")},name="provisioner"}`, well: 0, wrong: 3 },
      steady(`coder_k8s_leader{${operator("a")}}`, 1),
    ],
    harmless: [
      steady(`workqueue_depth{${operator("b")},name="control-plane"}`, 50),
      steady(`coder_k8s_leader{${operator("b")}}`, 0),
    ],
    labels: { name: "provisioner" },
    value: () => "3",
  },
  {
    alert: "CoderWatchRestarts",
    series: [
      {
        series: `coder_k8s_watch_restarts_total{${operator("a")},resource="secrets",reason="Forbidden"}`,
        counter: true,
        well: 0,
        wrong: 6,
      },
    ],
    harmless: [
      {
        series: `coder_k8s_watch_restarts_total{${operator("a")},resource="services",reason="Expired"}`,
        counter: true,
        well: 1,
        wrong: 1,
      },
    ],
    labels: { resource: "secrets", reason: "Forbidden" },
    value: () => "60",
  },
  {
    alert: "CoderOperatorBlocked",
    series: [{ series: `nodejs_eventloop_lag_max_seconds{${operator("a")}}`, well: 0.01, wrong: 0.9 }],
    harmless: [steady(`nodejs_eventloop_lag_max_seconds{${operator("b")}}`, 0.4)],
    labels: { instance: "a" },
    value: () => "900",
  },
  noReadyPod("CoderControlPlaneDown", plane),
  noReadyPod("CoderProvisionerDown", pool),
  {
    alert: "CoderBuildsWaiting",
    series: [{ series: oldestBuild(plane), wrong: 0 }],
    harmless: [
      // Builds that are taken a minute after they were made.
      { series: oldestBuild(other(plane)), well: 60, wrong: 60, counter: true },
      steady(about("coder_k8s_pool_oldest_job_timestamp_seconds", pool), 0),
    ],
    labels: { ...plane },
    value: (minute) => briefly(minute * 60),
  },
  {
    alert: "CoderWorkspaceProxyUnhealthy",
    series: [
      { series: condition(proxy, "Healthy", { status: "False", reason: "Unreachable" }), wrong: 1 },
      steady(replicas(proxy, "desired"), 1),
    ],
    harmless: [
      steady(condition(other(proxy), "Healthy", { status: "False", reason: "NotReported" }), 1),
      ...scaledToZero(other(proxy)),
    ],
    labels: { ...proxy, reason: "Unreachable" },
  },
  {
    alert: "CoderObjectNotReady",
    series: [
      { series: condition(pool, "Ready", { status: "Unknown", reason: "Pending" }), wrong: 1 },
      steady(replicas(pool, "desired"), 1),
    ],
    harmless: [
      steady(condition(plane, "Ready", { status: "True", reason: "Serving" }), 1),
      steady(replicas(plane, "desired"), 1),
      steady(condition(other(pool), "Ready", { status: "False", reason: "ScaledToZero" }), 1),
      ...scaledToZero(other(pool)),
    ],
    labels: { ...pool },
  },
  {
    alert: "CoderOperatorAccessLost",
    series: [
      {
        series: condition(plane, "OperatorAccessReady", { status: "False", reason: "DatabaseUnreachable" }),
        wrong: 1,
      },
    ],
    harmless: [
      steady(condition(other(plane), "OperatorAccessReady", { status: "False", reason: "Disabled" }), 1),
      steady(condition(other(pool), "OperatorAccessReady", { status: "False", reason: "SecretMissing" }), 1),
    ],
    labels: { ...plane, reason: "DatabaseUnreachable" },
  },
  licenseEnds("CoderLicenseExpiring", { days: 10, harmlessDays: 20 }),
  licenseEnds("CoderLicenseExpiringSoon", { days: 2, harmlessDays: 5 }),
  {
    alert: "CoderLicenseNotApplied",
    series: [
      { series: condition(plane, "LicenseApplied", { status: "False", reason: "SecretMissing" }), wrong: 1 },
    ],
    harmless: [
      steady(condition(other(plane), "LicenseApplied", { status: "False", reason: "Pending" }), 1),
      steady(
        condition({ ...plane, name: "oss" }, "LicenseApplied", {
          status: "Unknown",
          reason: "NotConfigured",
        }),
        1,
      ),
    ],
    labels: { ...plane, reason: "SecretMissing" },
  },
  {
    alert: "CoderProvisionersNotEntitled",
    series: [
      {
        series: condition(pool, "ExternalProvisionersEntitled", { status: "False", reason: "NotEntitled" }),
        wrong: 1,
      },
    ],
    harmless: [
      steady(
        condition(other(pool), "ExternalProvisionersEntitled", {
          status: "False",
          reason: "EntitlementsQueryFailed",
        }),
        1,
      ),
    ],
    labels: { ...pool },
  },
];
