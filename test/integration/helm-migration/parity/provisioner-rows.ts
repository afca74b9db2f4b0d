import { accountRows, podRows, templatesRow } from "./pod-rows.ts";
import { inContainer, inPod, type Row, variable } from "./row.ts";

const container = "Deployment spec.template.spec.containers.0";

const ssd = { matchExpressions: [{ key: "disk", operator: "In", values: ["ssd"] }] };
const nearby = { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: ssd }] };

/** Every value of the chart `provisioner`. */
export const provisionerRows: readonly Row[] = [
  ...podRows,
  ...accountRows,
  {
    ...inPod("affinity", { nodeAffinity: nearby }),
    note: "For the chart's suggestion in a comment use `presets.antiAffinity`.",
  },
  inContainer("command", ["/usr/bin/coder"]),
  {
    value: "coder.commandArgs",
    field: "extraArgs",
    chart: { commandArgs: ["provisionerd", "start", "--verbose"] },
    ours: { extraArgs: ["--verbose"] },
    shows: [`${container}.args`],
    note: "Without the leading `provisionerd start`.",
  },
  {
    value: "provisionerDaemon.pskSecretName",
    because:
      "The operator creates a key for each pool. A pre-shared key is valid for every organization, requires a restart of coderd to rotate, and is no longer recommended by Coder.",
  },
  {
    value: "provisionerDaemon.keySecretName",
    field: "key.secretName",
    chart: { provisionerDaemon: { keySecretName: "mine" } },
    ours: { key: { secretName: "mine" } },
    shows: [variable("CODER_PROVISIONER_DAEMON_KEY")],
    note: "The operator creates the key and stores it there; it refuses a Secret of another owner.",
  },
  {
    value: "provisionerDaemon.keySecretKey",
    field: "key.secretKey",
    chart: { provisionerDaemon: { keySecretName: "mine", keySecretKey: "value" } },
    ours: { key: { secretName: "mine", secretKey: "value" } },
    shows: [variable("CODER_PROVISIONER_DAEMON_KEY")],
  },
  {
    value: "provisionerDaemon.tags",
    field: "tags",
    chart: { provisionerDaemon: { tags: { location: "usa" } } },
    ours: { tags: { location: "usa" } },
    shows: [variable("CODER_PROVISIONERD_TAGS")],
    because: "Tags belong to the key in coderd; a daemon with both refuses to start.",
  },
  {
    value: "provisionerDaemon.terminationGracePeriodSeconds",
    field: "terminationGracePeriodSeconds",
    chart: { provisionerDaemon: { terminationGracePeriodSeconds: 900 } },
    ours: { terminationGracePeriodSeconds: 900 },
    shows: ["Deployment spec.template.spec.terminationGracePeriodSeconds"],
  },
  templatesRow,
];
