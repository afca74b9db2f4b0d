import { Command, InvalidArgumentError, Option } from "commander";
import type { LogFormat, LogLevel } from "kube-controller-runtime";

/** Options of `coder-k8s controller`, with defaults applied. */
export interface ControllerOptions {
  readonly kubeconfig?: string;
  readonly namespaces: readonly string[];
  readonly workspaceNamespaces: readonly string[];
  readonly leaderElect: boolean;
  readonly leaderElectionNamespace?: string;
  readonly metricsBindAddress: string;
  readonly metricsAuth: boolean;
  readonly healthProbeBindAddress: string;
  readonly concurrency: number;
  readonly coderdAccess: string;
  readonly clusterDomain?: string;
  readonly shutdownGraceSeconds: number;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
}

export interface CommandLine {
  readonly version: string;
  readonly runController: (options: ControllerOptions) => Promise<void>;
}

/** Returns the command line. Every flag has an environment variable, which `--help` shows. */
export function commandLine({ version, runController }: CommandLine): Command {
  const program = new Command("coder-k8s")
    .description(
      "Kubernetes operator for Coder: control planes, external provisioners and workspace proxies.",
    )
    .version(version, "-V, --version", "print the version and exit")
    .helpOption("-h, --help", "print this help and exit")
    .showHelpAfterError("(run with --help to see all options)");
  const controller = program
    .command("controller")
    .description("Run the operator until it receives SIGTERM or SIGINT.")
    .action(() => runController(controller.opts<ControllerOptions>()));
  for (const option of controllerFlags()) controller.addOption(option);
  return program;
}

function controllerFlags(): Option[] {
  return [
    flag(
      "--kubeconfig <file>",
      "path to a kubeconfig; defaults to KUBECONFIG, then the service account, then ~/.kube/config",
    ),
    flag("--namespaces <list>", "comma-separated namespaces to watch; if empty, all namespaces")
      .default([], "all")
      .argParser(nameList),
    flag(
      "--workspace-namespaces <list>",
      "comma-separated namespaces in which a control plane may run workspaces, in addition to its own; if empty, any namespace",
    )
      .default([], "any")
      .argParser(nameList),
    flag("--no-leader-elect", "disable leader election; only safe with a single replica"),
    flag(
      "--leader-election-namespace <name>",
      "namespace of the Lease; defaults to POD_NAMESPACE, then the namespace of the service account, then kube-system",
    ),
    flag("--metrics-bind-address <address>", "address that serves /metrics; 0 disables it").default(":8080"),
    flag(
      "--metrics-auth",
      "serve /metrics only to clients that are authenticated and allowed to get the non-resource URL /metrics",
    ).default(false),
    flag(
      "--health-probe-bind-address <address>",
      "address that serves /healthz and /readyz; 0 disables it",
    ).default(":8081"),
    flag("--concurrency <number>", "maximum number of objects of each kind to reconcile concurrently")
      .default(50)
      .argParser(positiveInteger),
    flag(
      "--coderd-access <how>",
      "how to reach coderd: direct, service-proxy (through the API server, from outside the cluster) or a fixed http(s) URL",
    )
      .default("direct")
      .argParser(coderdAccess),
    flag(
      "--cluster-domain <domain>",
      "cluster domain; defaults to the domain in /etc/resolv.conf, then cluster.local",
    ).argParser(domainName),
    flag("--shutdown-grace-seconds <number>", "seconds to wait for running reconciles after SIGTERM")
      .default(20)
      .argParser(positiveInteger),
    flag("--log-level <level>", "minimum level of log lines")
      .default("info")
      .choices(["debug", "info", "warn", "error"]),
    flag("--log-format <format>", "format of log lines: JSON or human-readable text")
      .default("json")
      .choices(["json", "text"]),
  ];
}

function flag(flags: string, description: string): Option {
  const option = new Option(flags, description);
  const variable = `CODER_K8S_${option.name().replaceAll("-", "_").toUpperCase()}`;
  // commander enables a flag for any value of its variable, including "false".
  const declined = !option.required && /^(0|false|no|off)?$/i.test(process.env[variable] ?? "yes");
  return declined ? option : option.env(variable);
}

function nameList(text: string): string[] {
  const names = text
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);
  const wrong = names.find((name) => !/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name));
  if (wrong) throw new InvalidArgumentError(`"${wrong}" is not a valid namespace name.`);
  return [...new Set(names)];
}

function domainName(text: string): string {
  const name = text.trim().replace(/\.$/, "");
  const label = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?";
  if (name.length <= 253 && new RegExp(`^${label}(\\.${label})*$`).test(name)) return name;
  throw new InvalidArgumentError("It must be a domain, such as cluster.local.");
}

function coderdAccess(text: string): string {
  if (text === "direct" || text === "service-proxy" || /^https?:\/\/[^/]/.test(text)) return text;
  throw new InvalidArgumentError("It must be direct, service-proxy or an http(s) URL.");
}

function positiveInteger(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1)
    throw new InvalidArgumentError("It must be an integer of at least 1.");
  return number;
}
