import type { Log } from "kube-controller-runtime/testing/binaries";
import {
  hasNodeBinaries,
  type LocalNode,
  leftovers,
  obstacle,
  runningNode,
  startNode,
} from "kube-controller-runtime/testing/node";
import type { TestProject } from "vitest/node";
import { coderNames, loadCoder, loadOperator } from "../../../lab/node/images.ts";
import { nodePostgres, startNodePostgres } from "../../../lab/node/postgres.ts";
import { hasCoderImageParts } from "../../../tools/coder-image/image.ts";
import { installOperator } from "./operator.ts";
import type { TestCluster } from "./test-cluster.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Absent where pods cannot run. */
    place: TestCluster;
  }
}

/** Whether tests that need what is not there are skipped: then nothing is built for them. */
const onlyIfPossible = process.env.NODE_TESTS === "if-possible";

/**
 * Gives the tests a cluster: the one of KUBECONFIG, the node that runs on this machine already, or one that is started
 * for them and leaves nothing behind. The operator is installed there from this checkout.
 */
export async function setup({ vitest }: TestProject): Promise<(() => Promise<void>) | undefined> {
  // Both projects of this suite have the same cluster.
  if (vitest.getProvidedContext().place) return undefined;
  const kubeconfig = await foreignKubeconfig();
  const reason = kubeconfig ? whyNotThere() : await whyNotHere();
  if (reason !== undefined) {
    if (!onlyIfPossible) throw new Error(reason);
    console.warn(`\n*** TESTS IN REAL PODS SKIPPED: ${reason} ***\n`);
    return undefined;
  }
  await using owned = new AsyncDisposableStack();
  const place = kubeconfig ? givenPlace(kubeconfig) : await ownPlace(owned);
  await installOperator(place);
  vitest.provide("place", place);
  const resources = owned.move();
  return () => resources.disposeAsync();
}

/** KUBECONFIG, unless it is the one that `make node` asks people to export. */
async function foreignKubeconfig(): Promise<string | undefined> {
  const given = process.env.KUBECONFIG || undefined;
  const own = obstacle() ? undefined : (await runningNode())?.kubeconfig;
  return given === own ? undefined : given;
}

function whyNotThere(): string | undefined {
  if (process.env.POSTGRES_URL) return undefined;
  return "KUBECONFIG is set: set POSTGRES_URL as well, to a Postgres that both pods and this machine reach.";
}

async function whyNotHere(): Promise<string | undefined> {
  const reason = obstacle();
  if (reason !== undefined) return reason;
  return (await hasNodeBinaries()) ? undefined : "kubelet is not built yet; `make test-node` builds it once.";
}

function givenPlace(kubeconfig: string): TestCluster {
  const { IMAGE_PREFIX: imagePrefix, POSTGRES_URL: postgresUrl = "" } = process.env;
  const coder = coderNames(imagePrefix);
  return { kubeconfig, kubectl: "kubectl", postgresUrl, imagePrefix, coder, local: false };
}

async function ownPlace(owned: AsyncDisposableStack): Promise<TestCluster> {
  const log = (line: string) => console.warn(`node: ${line}`);
  const node = (await runningNode()) ?? (await startedNode(owned, log));
  await node.freeVolumes();
  await loadOperator(node, log);
  if (!onlyIfPossible || (await hasCoderImageParts())) await loadCoder(node);
  const { kubeconfig, kubectl } = node;
  const postgresUrl = await nodePostgres(node);
  const coder = (await node.images()).includes(coderNames().current) ? coderNames() : undefined;
  if (coder === undefined)
    console.warn(
      "\n*** TESTS OF CODER IN REAL PODS SKIPPED: its images are not built yet; `make test-node` builds them once. ***\n",
    );
  return { kubeconfig, kubectl, postgresUrl, imagePrefix: undefined, coder, local: true };
}

async function startedNode(owned: AsyncDisposableStack, log: Log): Promise<LocalNode> {
  owned.defer(async () => {
    const left = await leftovers();
    if (left.length > 0) throw new Error(`the node left resources behind:\n${left.join("\n")}`);
  });
  const node = owned.use(await startNode({ log }));
  await startNodePostgres(node);
  return node;
}
