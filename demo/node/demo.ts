import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type LocalNode, obstacle, startNode } from "kube-controller-runtime/testing/node";
import { mint } from "../../lab/mint.ts";
import { loadOperator } from "../../lab/node/images.ts";
import { startNodePostgres } from "../../lab/node/postgres.ts";
import { coderBinaries } from "../../tools/coder/binaries.ts";
import { coderImage } from "../../tools/coder-image/image.ts";
import { helmBinary } from "../../tools/helm/binary.ts";
import { Signposts } from "../signposts.ts";
import type { Screen } from "../view/screen.ts";
import { type NodeGuideFacts, nodeGuide } from "./guide.ts";
import { nodeManifests } from "./manifests.ts";
import { Person } from "./person.ts";

const TEMPLATE = fileURLToPath(new URL("../../lab/workspace-template", import.meta.url));
const WORKSPACE = "dev";

/** The environment of the demo. */
export interface NodeDemo {
  readonly screen: Screen;
  /** Aborted to end the demo. */
  readonly signal: AbortSignal;
  /** End as soon as the workspace responds. */
  readonly once: boolean;
}

/**
 * Starts a real node, installs the operator from its chart, runs Coder with it and opens a workspace; removes
 * all of it at the end. Fails with the reason if one of these steps fails.
 */
export async function runNodeDemo({ screen, signal, once }: NodeDemo): Promise<void> {
  const reason = obstacle();
  if (reason) throw new Error(reason);
  const startedAt = performance.now();
  const report = (line: string) => {
    signal.throwIfAborted();
    screen.happened(line, performance.now() - startedAt);
  };
  await using owned = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "coder-k8s-demo-"));
  owned.defer(() => rm(folder, { recursive: true, force: true }));
  const { coder } = await coderBinaries(undefined, ["coder"]);
  const { name: image, file } = await coderImage("coder");
  const node = owned.use(await startNode({ log: report }));
  report("loading images");
  await loadOperator(node, report);
  await node.importImage(file);
  report("installing the operator with helm");
  await helmInstall(node, folder);
  const kubectl = new Kubectl(node);
  await startCoder(kubectl, { node, coder, image, report });
  const person = await openWorkspace(kubectl, { folder, coder, image, report });
  const answer = await person.coder("ssh", WORKSPACE, "--", "echo", "$USER@$(hostname)");
  report(`coder ssh ${WORKSPACE} answers: ${answer.trim()}`);
  if (once) return;
  screen.print(nodeGuide(await guideFacts(node, { folder, person, coder })));
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}

interface CoderParts {
  readonly node: LocalNode;
  /** The executable. */
  readonly coder: string;
  readonly image: string;
  readonly report: (line: string) => void;
}

/** Applies the manifests and resolves when every custom resource is ready. */
async function startCoder(kubectl: Kubectl, { node, coder, image, report }: CoderParts): Promise<void> {
  report("starting Postgres");
  const databaseUrl = `${await startNodePostgres(node)}?sslmode=disable`;
  const [license] = await mint({ coder }, "premium");
  const manifests = await nodeManifests({ coderImage: image, databaseUrl, license });
  await kubectl.run(["apply", "--filename", "-"], manifests);
  report("applied demo/node/manifests");
  await kubectl.run(["config", "set-context", "--current", "--namespace=demo"]);
  for (const object of ["codercontrolplane/coder", "coderprovisioner/linux", "coderworkspaceproxy/sydney"]) {
    await kubectl.run(["wait", "--for=condition=Ready", "--timeout=240s", object]);
    report(`${object} is ready`);
  }
}

/** Creates the first user in coderd, pushes the template and creates a workspace, whose pod then runs. */
async function openWorkspace(
  kubectl: Kubectl,
  { folder, coder, image, report }: { folder: string } & Pick<CoderParts, "coder" | "image" | "report">,
): Promise<Person> {
  const address = await kubectl.run(["get", "service", "coder", "--output=jsonpath={.spec.clusterIP}"]);
  const configFolder = join(folder, "coder");
  await mkdir(configFolder);
  const password = randomBytes(18).toString("base64url");
  const person = await Person.signUp(`http://${address}`, { coder, configFolder, password });
  const variables = ["--variable", "namespace=workspaces", "--variable", `image=${image}`];
  await person.coder("templates", "push", "kubernetes", "--directory", TEMPLATE, ...variables, "--yes");
  report("pushed the template kubernetes");
  await person.coder("create", WORKSPACE, "--template", "kubernetes", "--yes");
  report(`created the workspace ${WORKSPACE}`);
  return person;
}

async function guideFacts(
  node: LocalNode,
  { folder, person, coder }: { folder: string; person: Person; coder: string },
): Promise<NodeGuideFacts> {
  const signposts = new Signposts(folder);
  await signposts.placePlugin();
  await symlink(node.kubectl, join(signposts.programs, "kubectl"));
  await symlink(coder, join(signposts.programs, "coder"));
  return {
    kubeconfig: node.kubeconfig,
    programs: signposts.programs,
    coderConfig: person.configFolder,
    coderUrl: person.url,
    workspace: WORKSPACE,
  };
}

const CHART = fileURLToPath(new URL("../../charts/coder-k8s", import.meta.url));

/**
 * Installs the operator as described in the README, with helm's files in `home`; resolves when its pods are
 * ready.
 */
async function helmInstall(node: LocalNode, home: string): Promise<void> {
  const args = ["install", "coder-k8s", CHART, "--namespace", "coder-system", "--create-namespace", "--wait"];
  const env = { PATH: process.env.PATH, HOME: home, KUBECONFIG: node.kubeconfig };
  await promisify(execFile)(await helmBinary(), args, { env });
}

/** kubectl as the admin of a node. */
class Kubectl {
  readonly #node: Pick<LocalNode, "kubectl" | "kubeconfig">;

  constructor(node: Pick<LocalNode, "kubectl" | "kubeconfig">) {
    this.#node = node;
  }

  /** Returns its output; throws with its error output on failure. */
  async run(args: readonly string[], stdin = ""): Promise<string> {
    const env = { PATH: process.env.PATH, KUBECONFIG: this.#node.kubeconfig };
    const running = promisify(execFile)(this.#node.kubectl, args, { env });
    running.child.stdin?.on("error", () => {}).end(stdin);
    const { stdout } = await running.catch((cause: Error & { readonly stderr?: string }) => {
      throw new Error(`kubectl ${args.join(" ")}: ${cause.stderr?.trim() || cause.message}`, { cause });
    });
    return stdout;
  }
}
