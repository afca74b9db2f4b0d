import { afterEach, describe, expect, test, vi } from "vitest";
import { type ControllerOptions, commandLine } from "./options.ts";

afterEach(() => vi.unstubAllEnvs());

/** Returns the options that the controller receives. Throws on invalid flags instead of exiting. */
async function parse(...args: string[]): Promise<ControllerOptions> {
  let reported: ControllerOptions | undefined;
  await program((options) => {
    reported = options;
  }).parseAsync(["node", "coder-k8s", ...args]);
  if (!reported) throw new Error("the controller was not run");
  return reported;
}

function program(run: (options: ControllerOptions) => void) {
  const command = commandLine({ version: "1.2.3", runController: async (options) => run(options) });
  for (const each of [command, ...command.commands])
    each.exitOverride().configureOutput({ writeErr: () => {} });
  return command;
}

test("without flags the controller gets the documented defaults", async () => {
  expect(await parse("controller")).toEqual({
    namespaces: [],
    workspaceNamespaces: [],
    leaderElect: true,
    metricsBindAddress: ":8080",
    metricsAuth: false,
    healthProbeBindAddress: ":8081",
    concurrency: 50,
    coderdAccess: "direct",
    shutdownGraceSeconds: 20,
    logLevel: "info",
    logFormat: "json",
  });
});

const settings: { flag: string; value: string; variable: string; option: Partial<ControllerOptions> }[] = [
  { flag: "--kubeconfig", value: "/k", variable: "CODER_K8S_KUBECONFIG", option: { kubeconfig: "/k" } },
  {
    flag: "--namespaces",
    value: " a, b,a,",
    variable: "CODER_K8S_NAMESPACES",
    option: { namespaces: ["a", "b"] },
  },
  {
    flag: "--workspace-namespaces",
    value: "team-a,team-b",
    variable: "CODER_K8S_WORKSPACE_NAMESPACES",
    option: { workspaceNamespaces: ["team-a", "team-b"] },
  },
  {
    flag: "--leader-election-namespace",
    value: "ops",
    variable: "CODER_K8S_LEADER_ELECTION_NAMESPACE",
    option: { leaderElectionNamespace: "ops" },
  },
  {
    flag: "--metrics-bind-address",
    value: "0",
    variable: "CODER_K8S_METRICS_BIND_ADDRESS",
    option: { metricsBindAddress: "0" },
  },
  {
    flag: "--health-probe-bind-address",
    value: ":9",
    variable: "CODER_K8S_HEALTH_PROBE_BIND_ADDRESS",
    option: { healthProbeBindAddress: ":9" },
  },
  { flag: "--concurrency", value: "7", variable: "CODER_K8S_CONCURRENCY", option: { concurrency: 7 } },
  {
    flag: "--coderd-access",
    value: "service-proxy",
    variable: "CODER_K8S_CODERD_ACCESS",
    option: { coderdAccess: "service-proxy" },
  },
  {
    flag: "--shutdown-grace-seconds",
    value: "5",
    variable: "CODER_K8S_SHUTDOWN_GRACE_SECONDS",
    option: { shutdownGraceSeconds: 5 },
  },
  { flag: "--log-level", value: "debug", variable: "CODER_K8S_LOG_LEVEL", option: { logLevel: "debug" } },
  { flag: "--log-format", value: "text", variable: "CODER_K8S_LOG_FORMAT", option: { logFormat: "text" } },
];

describe.each(settings)("$flag", ({ flag, value, variable, option }) => {
  test("is taken from the command line", async () => {
    expect(await parse("controller", flag, value)).toMatchObject(option);
  });

  test("is taken from its environment variable, which the help shows", async () => {
    vi.stubEnv(variable, value);
    expect(await parse("controller")).toMatchObject(option);
    const [controller] = program(() => {}).commands;
    expect(controller?.helpInformation()).toContain(variable);
  });
});

describe("metrics are for those who may read them", () => {
  test("by --metrics-auth", async () => {
    expect(await parse("controller", "--metrics-auth")).toMatchObject({ metricsAuth: true });
  });

  test("by its environment variable", async () => {
    vi.stubEnv("CODER_K8S_METRICS_AUTH", "true");
    expect(await parse("controller")).toMatchObject({ metricsAuth: true });
  });

  test("but not by that variable with the value false", async () => {
    vi.stubEnv("CODER_K8S_METRICS_AUTH", "false");
    expect(await parse("controller")).toMatchObject({ metricsAuth: false });
  });
});

describe("leader election is turned off", () => {
  test("by --no-leader-elect", async () => {
    expect(await parse("controller", "--no-leader-elect")).toMatchObject({ leaderElect: false });
  });

  test("by its environment variable", async () => {
    vi.stubEnv("CODER_K8S_NO_LEADER_ELECT", "true");
    expect(await parse("controller")).toMatchObject({ leaderElect: false });
  });

  test.each(["false", "0", "no", ""])("but not by that variable with the value %j", async (value) => {
    vi.stubEnv("CODER_K8S_NO_LEADER_ELECT", value);
    expect(await parse("controller")).toMatchObject({ leaderElect: true });
  });
});

test.each([
  ["--namespaces", "Prod", '"Prod" is not a valid namespace name'],
  ["--concurrency", "0", "integer of at least 1"],
  ["--concurrency", "1.5", "integer of at least 1"],
  ["--shutdown-grace-seconds", "soon", "integer of at least 1"],
  ["--coderd-access", "proxy", "It must be direct, service-proxy or an http(s) URL"],
  ["--coderd-access", "https://", "It must be direct, service-proxy or an http(s) URL"],
  ["--log-level", "loud", "Allowed choices are debug, info, warn, error"],
  ["--speed", "9", "unknown option '--speed'"],
])("%s %s is rejected with a message that helps", async (flag, value, says) => {
  await expect(parse("controller", flag, value)).rejects.toThrow(says);
});
