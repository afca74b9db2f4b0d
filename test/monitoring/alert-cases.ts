import {
  type AlertCase,
  about,
  briefly,
  condition,
  DAY,
  ends,
  expiry,
  group,
  noReadyPod,
  oldestBuild,
  operator,
  other,
  plane,
  pool,
  proxy,
  replicas,
  scaledToZero,
  seats,
  slowCalls,
  steady,
  trial,
} from "./alert-series.ts";

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
    alert: "CoderOperatorLeaseFailing",
    series: [
      {
        series: `coder_k8s_lease_failures_total{${operator("a")},reason="Forbidden"}`,
        counter: true,
        well: 0,
        wrong: 6,
      },
    ],
    harmless: [
      {
        series: `other_lease_failures_total{${operator("a")},reason="Forbidden"}`,
        counter: true,
        well: 5,
        wrong: 5,
      },
    ],
    labels: { reason: "Forbidden" },
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
    harmless: [
      steady(condition(plane, "Ready", { status: "False", reason: "RollingOut" }), 1),
      steady(condition(group, "Stalled", { status: "True", reason: "ExistsAlready" }), 1),
    ],
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
    alert: "CoderGivenTokenExpiring",
    ...ends("coder_k8s_given_token_expiry_timestamp_seconds", 10),
    harmless: [
      steady(about("coder_k8s_given_token_expiry_timestamp_seconds", other(plane)), 29 * DAY),
      steady(about("coder_k8s_operator_token_expiry_timestamp_seconds", other(pool)), 10 * DAY),
    ],
  },
  {
    alert: "CoderFirstAdminNotReady",
    series: [
      { series: condition(plane, "FirstAdminReady", { status: "False", reason: "SecretMissing" }), wrong: 1 },
    ],
    harmless: [
      steady(condition(other(plane), "FirstAdminReady", { status: "False", reason: "Pending" }), 1),
      steady(
        condition({ ...plane, name: "old" }, "FirstAdminReady", { status: "True", reason: "UsersExist" }),
        1,
      ),
    ],
    labels: { ...plane, reason: "SecretMissing" },
  },
  {
    alert: "CoderOrganizationSyncNotReady",
    series: [
      {
        series: condition(plane, "OrganizationSyncReady", { status: "False", reason: "OrganizationMissing" }),
        wrong: 1,
      },
    ],
    harmless: [
      steady(condition(other(plane), "OrganizationSyncReady", { status: "False", reason: "Pending" }), 1),
    ],
    labels: { ...plane, reason: "OrganizationMissing" },
  },
  {
    alert: "CoderEntityNotReady",
    series: [{ series: condition(group, "Ready", { status: "False", reason: "NotFound" }), wrong: 1 }],
    harmless: [
      steady(condition(other(group), "Ready", { status: "False", reason: "Pending" }), 1),
      steady(condition({ ...group, name: "well" }, "Ready", { status: "True", reason: "UpToDate" }), 1),
      steady(condition(plane, "Ready", { status: "False", reason: "RollingOut" }), 1),
    ],
    labels: { ...group },
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
