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
  /** It concerns a paused object too: what it shows is not the operator's work. */
  readonly evenPaused?: true;
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

/** That somebody has paused an object, all the time. */
export const paused = (object: Named): Series => steady(about("coder_k8s_object_paused", object), 1);

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

const tier = (object: Named, name: string) => about("coder_k8s_license_tier", object, `,tier="${name}"`);
const trial = (name: string, days: number) => [
  steady(expiry({ ...plane, name }), days * DAY),
  steady(tier({ ...plane, name }, "trial"), 1),
];

/** Something that ends in so many days. */
function ends(metric: string, days: number): Pick<AlertCase, "series" | "labels" | "value"> {
  return {
    series: [{ series: about(metric, plane), well: 90 * DAY, wrong: days * DAY }],
    labels: { ...plane },
    value: (minute) => duration(days * DAY - minute * 60),
  };
}

/** Calls that take so many seconds on average, one in a minute. */
function slowCalls(whom: string, call: string, seconds: { well: number; wrong: number }): Series[] {
  const name = `coder_k8s_${whom}_call_duration_seconds`;
  const labels = `${operator("a")},call="${call}",result="ok"`;
  return [
    { series: `${name}_sum{${labels}}`, counter: true, ...seconds },
    { series: `${name}_count{${labels}}`, counter: true, well: 1, wrong: 1 },
  ];
}

function seats(
  object: Named,
  { used, allowed }: { used: Omit<Series, "series">; allowed?: number },
): Series[] {
  const limit = about("coder_k8s_license_seats_allowed", object);
  return [
    { series: about("coder_k8s_license_seats_used", object), ...used },
    ...(allowed === undefined ? [] : [steady(limit, allowed)]),
  ];
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
  {
    alert: "CoderAPISlow",
    series: slowCalls("coderd", "licenses", { well: 0.1, wrong: 8 }),
    harmless: [
      ...slowCalls("coderd", "entitlements", { well: 2, wrong: 2 }),
      ...slowCalls("coderd", "health", { well: 9, wrong: 9 }),
    ],
    labels: { call: "licenses" },
    value: () => "8s",
  },
  {
    alert: "CoderDatabaseSlow",
    series: slowCalls("database", "ensureToken", { well: 0.1, wrong: 20 }),
    harmless: slowCalls("database", "revokeToken", { well: 4, wrong: 4 }),
    labels: { call: "ensureToken" },
    value: () => "20s",
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
    evenPaused: true,
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
    alert: "CoderUnhealthy",
    series: [
      { series: condition(plane, "Healthy", { status: "False", reason: "DatabaseFailing" }), wrong: 1 },
    ],
    harmless: [
      steady(condition(other(plane), "Healthy", { status: "Unknown", reason: "NoReport" }), 1),
      steady(condition({ ...plane, name: "warns" }, "Healthy", { status: "True", reason: "ChecksWarn" }), 1),
      steady(condition(proxy, "Healthy", { status: "False", reason: "Unreachable" }), 1),
    ],
    labels: { ...plane, reason: "DatabaseFailing" },
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
    alert: "CoderRolloutStalled",
    series: [{ series: condition(pool, "Stalled", { status: "True", reason: "PodsNotReady" }), wrong: 1 }],
    harmless: [steady(condition(plane, "Ready", { status: "False", reason: "RollingOut" }), 1)],
    labels: { ...pool },
  },
  {
    alert: "CoderUpgradeStuck",
    series: [{ series: about("coder_k8s_upgrade_stage", plane, ',stage="Stuck"'), wrong: 1 }],
    harmless: [steady(about("coder_k8s_upgrade_stage", other(plane), ',stage="Migrating"'), 1)],
    labels: { ...plane },
    evenPaused: true,
  },
  {
    alert: "CoderUpgradeSlow",
    series: [
      {
        series: about("coder_k8s_upgrade_stage_since_timestamp_seconds", plane, ',stage="Migrating"'),
        wrong: -1800,
      },
    ],
    harmless: [
      steady(
        about("coder_k8s_upgrade_stage_since_timestamp_seconds", other(plane), ',stage="Completed"'),
        -90_000,
      ),
    ],
    labels: { ...plane, stage: "Migrating" },
    evenPaused: true,
    value: (minute) => briefly(minute * 60 + 1_800),
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
  {
    alert: "CoderOperatorTokenExpiring",
    ...ends("coder_k8s_operator_token_expiry_timestamp_seconds", 10),
    harmless: [
      steady(about("coder_k8s_operator_token_expiry_timestamp_seconds", other(plane)), 29 * DAY),
      steady(expiry(other(plane)), 10 * DAY),
    ],
  },
  {
    alert: "CoderLicenseExpiring",
    ...ends("coder_k8s_license_expiry_timestamp_seconds", 20),
    // One that has ended is another alert.
    harmless: [
      steady(expiry(other(plane)), 40 * DAY),
      ...trial("trial", 20),
      steady(expiry({ ...plane, name: "ended" }), -DAY),
    ],
  },
  {
    alert: "CoderLicenseExpiringSoon",
    ...ends("coder_k8s_license_expiry_timestamp_seconds", 2),
    // One that has ended is another alert.
    harmless: [steady(expiry(other(plane)), 5 * DAY), steady(expiry({ ...plane, name: "ended" }), -DAY)],
  },
  {
    alert: "CoderLicenseEnded",
    series: [{ series: condition(plane, "LicenseValid", { status: "False", reason: "InGrace" }), wrong: 1 }],
    harmless: [
      steady(condition(other(plane), "LicenseValid", { status: "True", reason: "ExpiresSoon" }), 1),
      steady(
        condition({ ...plane, name: "oss" }, "LicenseValid", { status: "Unknown", reason: "NoLicense" }),
        1,
      ),
      steady(
        condition({ ...plane, name: "full" }, "LicenseValid", { status: "False", reason: "OverSeats" }),
        1,
      ),
    ],
    labels: { ...plane, reason: "InGrace" },
  },
  {
    alert: "CoderLicenseOverSeats",
    series: seats(plane, { used: { well: 9, wrong: 12 }, allowed: 10 }),
    harmless: [
      ...seats(other(plane), { used: { well: 10, wrong: 10 }, allowed: 10 }),
      ...seats({ ...plane, name: "unlimited" }, { used: { well: 900, wrong: 900 } }),
    ],
    labels: { ...plane },
    value: () => "2",
  },
  {
    alert: "CoderLicenseNotApplied",
    series: [
      { series: condition(plane, "LicenseApplied", { status: "False", reason: "SecretMissing" }), wrong: 1 },
    ],
    harmless: [
      steady(condition(other(plane), "LicenseApplied", { status: "False", reason: "Pending" }), 1),
      steady(
        condition({ ...plane, name: "own" }, "LicenseApplied", { status: "False", reason: "Disabled" }),
        1,
      ),
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
