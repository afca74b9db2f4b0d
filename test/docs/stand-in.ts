/**
 * Takes the place of a program in commands of the documentation. What only looks is run for real; what changes
 * something is run dry; what would take long or needs pods is only parsed, by asking the program itself for help.
 * A complaint goes to the file in `COMPLAINTS`, because a shell forgets how the first part of a pipe ended.
 */
import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const { COMPLAINTS = "", REAL_HELM = "", REAL_KUBECTL = "", REAL_MAKE = "", REPOSITORY = "" } = process.env;
const [program = "", ...args] = process.argv.slice(2);

interface Ended {
  readonly status: number | null;
  readonly stderr: string;
}

function run(binary: string, parameters: readonly string[], output: "inherit" | "ignore" = "inherit"): Ended {
  return spawnSync(binary, parameters, { stdio: ["inherit", output, "pipe"], encoding: "utf8" });
}

/** Errors that a reader's cluster would not give: it has the objects, or does not have them yet. */
const harmless = [
  /^Error from server \(NotFound\): [\w.-]+( "[^"]+")? .*not found$/,
  /^Error from server \(AlreadyExists\)/,
  /^error: no objects passed to scale/,
  /^error: condition not met for coder/,
  /^error: resource mapping not found for name: .*: no matches for kind "(Cluster|Certificate|Gateway)"/,
  /^ensure CRDs are installed first$/,
  /^error: the server doesn't have a resource type "httproute"$/,
  /^No resources found/,
  /^Warning: /,
];

/** How each verb of kubectl is tried. */
const verbs: Readonly<Record<string, "run" | "dry" | "once" | "parse">> = {
  annotate: "dry",
  "api-resources": "run",
  apply: "dry",
  auth: "run",
  create: "dry",
  delete: "dry",
  describe: "run",
  exec: "parse",
  explain: "run",
  get: "run",
  logs: "parse",
  patch: "dry",
  "port-forward": "parse",
  replace: "dry",
  rollout: "parse",
  scale: "dry",
  top: "parse",
  version: "run",
  wait: "once",
};

/** `kubectl coder` from its sources, without a cluster: only words that it does not know end with this code. */
function plugin(words: readonly string[]): string | undefined {
  const usage = 2;
  const { status, stderr } = spawnSync(
    process.execPath,
    [join(REPOSITORY, "src/kubectl-coder.ts"), ...words],
    {
      encoding: "utf8",
      env: { ...process.env, KUBECONFIG: join(REPOSITORY, "none") },
      stdio: ["ignore", "ignore", "pipe"],
    },
  );
  return status === usage || status === null ? stderr : undefined;
}

function kubectl(): string | undefined {
  const [verb = "", ...rest] = args[0] === "-n" ? args.slice(2) : args;
  if (verb === "coder") return plugin(rest);
  const how = verbs[verb];
  if (how === undefined) return `unsupported command: kubectl ${verb}`;
  if (how === "parse")
    return parsed(REAL_KUBECTL, ["kubectl", verb, ...(verb === "rollout" ? rest.slice(0, 1) : [])]);
  const { status, stderr } = run(REAL_KUBECTL, [...args, ...restraint(how)]);
  const isNo = verb === "auth" && stderr === "";
  const complaints = stderr.split("\n").filter((line) => line && !harmless.some((known) => known.test(line)));
  return status === 0 || isNo || complaints.length === 0 ? undefined : complaints.join("\n");
}

/** What keeps a command from changing anything, and from waiting. */
function restraint(how: "run" | "dry" | "once"): string[] {
  if (how === "once") return ["--timeout=0"];
  const isDry = how === "run" || args.some((arg) => arg.startsWith("--dry-run"));
  return isDry ? [] : ["--dry-run=server"];
}

/** Complains when the program does not know the command, or one of its flags. */
function parsed(binary: string, command: readonly string[]): string | undefined {
  // Arguments after two dashes are for another program.
  const own = args.includes("--") ? args.slice(0, args.indexOf("--")) : args;
  const { status, stdout, stderr } = spawnSync(binary, [...own, "--help"], { encoding: "utf8" });
  if (status !== 0) return stderr;
  return stdout.includes(`${command.join(" ")} `) ? undefined : `there is no command ${command.join(" ")}`;
}

function helm(): string | undefined {
  const [verb = "", ...rest] = args;
  const unknown = parsed(REAL_HELM, ["helm", verb, ...(verb === "get" ? rest.slice(0, 1) : [])]);
  // Coder's own chart is in no folder of the reader's.
  if (unknown || !["install", "upgrade"].includes(verb) || args.includes("coder-v2/coder")) return unknown;
  const chart = args.find((arg) => arg.startsWith("charts/")) ?? "no chart";
  const values = args.filter(
    (arg, index) => /^--(set|values)/.test(arg) || /^--(set|values)$/.test(args[index - 1] ?? ""),
  );
  const { status, stderr } = run(REAL_HELM, ["template", "coder-k8s", chart, ...values], "ignore");
  return status === 0 ? undefined : stderr;
}

function make(): string | undefined {
  const { status, stderr } = run(REAL_MAKE, ["--dry-run", "-C", REPOSITORY, ...args], "ignore");
  return status === 0 ? undefined : stderr;
}

function docker(): string | undefined {
  const [verb = ""] = args;
  if (!["build", "push"].includes(verb)) return `unsupported command: docker ${verb}`;
  const dockerfile = readFileSync(join(REPOSITORY, "Dockerfile"), "utf8");
  const given = args.filter((_, index) => args[index - 1] === "--build-arg").map((arg) => arg.split("=")[0]);
  const unknown = given.filter((name) => !new RegExp(`^ARG ${name}\\b`, "m").test(dockerfile));
  return unknown.length > 0 ? `the Dockerfile has no ARG ${unknown.join(", ")}` : undefined;
}

/** Coder's own command line is not installed either: the words that its sources know. */
function coder(): string | undefined {
  const isPush = /^templates push [\w-]+( --provisioner-tag [\w-]+=[\w-]+)+$/.test(args.join(" "));
  return isPush ? undefined : `unsupported command: coder ${args.join(" ")}`;
}

/** Not installed with the tests' own tools, so the words are all that is looked at. */
function kind(): string | undefined {
  return args.length === 3 && args.join(" ").startsWith("load docker-image ")
    ? undefined
    : `unsupported command: kind ${args.join(" ")}`;
}

/** Not installed either: what it copies must be where `make image` puts it. */
function skopeo(): string | undefined {
  const { version } = JSON.parse(readFileSync(join(REPOSITORY, "package.json"), "utf8"));
  const [image = "", target = "", ...rest] = args.slice(2);
  const isCopy = args[0] === "copy" && args[1] === "--all" && rest.length === 0;
  const isOurs = image === `oci:dist/image/oci:${version}` && target.startsWith("docker://");
  return isCopy && isOurs ? undefined : `unsupported command: skopeo ${args.join(" ")}`;
}

function node(): string | undefined {
  const [script = ""] = args;
  return existsSync(join(REPOSITORY, script)) ? undefined : `there is no file ${script}`;
}

const programs: Readonly<Record<string, () => string | undefined>> = {
  coder,
  docker,
  helm,
  kind,
  kubectl,
  make,
  node,
  skopeo,
};
const complaint = programs[program]?.();
if (complaint) appendFileSync(COMPLAINTS, `${program} ${args.join(" ")}\n${complaint}\n`);
