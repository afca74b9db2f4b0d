/** Starts or stops a real node on this machine with everything that is needed to run Coder. */
import { parseArgs } from "node:util";
import { leftovers, startNode, stopNode } from "kube-controller-runtime/testing/node";
import { loadCoder, loadOperator } from "../../lab/node/images.ts";
import { startNodePostgres } from "../../lab/node/postgres.ts";
import { hasCoderImageParts } from "../coder-image/image.ts";

const { values } = parseArgs({ options: { stop: { type: "boolean", default: false } } });
const log = (line: string) => console.error(`node: ${line}`);

async function start(): Promise<void> {
  const node = await startNode({ detached: true, log });
  try {
    log("starting Postgres");
    const postgres = await startNodePostgres(node);
    log("loading images");
    const operator = await loadOperator(node, log);
    const coder = (await hasCoderImageParts()) ? await loadCoder(node) : [];
    console.log(`
The node is ready.

  export KUBECONFIG=${node.kubeconfig}

  kubectl   ${node.kubectl}
  Postgres  ${postgres}
            (in pods also postgres.database.svc:5432)
  Images    ${[operator, ...coder].join("\n            ")}
${coder.length === 0 ? "            The images of Coder are not built yet: `make coder-image` builds them once, in half an hour.\n" : ""}
  Install the operator:  helm install coder-k8s charts/coder-k8s --namespace coder-system --create-namespace
  Stop the node:         make node STOP=1
`);
  } catch (error) {
    await stopNode();
    throw error;
  }
}

async function stop(): Promise<void> {
  await stopNode();
  const left = await leftovers();
  if (left.length > 0) throw new Error(`the node left resources behind:\n${left.join("\n")}`);
  log("stopped; nothing is left behind");
}

try {
  await (values.stop ? stop() : start());
} catch (error) {
  log((error as Error).message);
  process.exitCode = 1;
}
