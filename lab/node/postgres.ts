import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { untilReady } from "kube-controller-runtime/testing";
import { addresses, type LocalNode } from "kube-controller-runtime/testing/node";
import pg from "pg";

const SERVER = fileURLToPath(new URL("postgres-server.ts", import.meta.url));
const NAME = "postgres";
const NAMESPACE = "database";
const PORT = 5432;

/** The file with the administrator's URL, for the lifetime of the node. */
const postgresUrlFile = (node: LocalNode) => join(dirname(node.kubeconfig), "postgres.url");

/**
 * Starts a Postgres on the node. Pods and this machine reach it at the returned URL, and pods also by the
 * name of a Service: `postgres.database`.
 */
export async function startNodePostgres(node: LocalNode): Promise<string> {
  const password = randomBytes(12).toString("hex");
  const folder = join(node.folder, "postgres");
  await mkdir(folder, { recursive: true, mode: 0o755 });
  const server = node.start(NAME, [process.execPath, SERVER], {
    ...process.env,
    POSTGRES_FOLDER: join(folder, "data"),
    POSTGRES_ADDRESS: addresses.node,
    POSTGRES_PASSWORD: password,
    POSTGRES_CLIENTS: addresses.all,
  });
  const url = `postgres://postgres:${password}@${addresses.node}:${PORT}/postgres`;
  await untilReady(server, () => answers(url));
  await node.apply({ apiVersion: "v1", kind: "List", items: service() });
  await writeFile(postgresUrlFile(node), url, { mode: 0o600 });
  return url;
}

/** The URL of the Postgres on a node. */
export function nodePostgres(node: LocalNode): Promise<string> {
  return readFile(postgresUrlFile(node), "utf8");
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.end();
  return true;
}

/** A Service for a server outside of pods. */
function service(): object[] {
  const ports = [{ name: NAME, port: PORT }];
  const metadata = { name: NAME, namespace: NAMESPACE };
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } },
    { apiVersion: "v1", kind: "Service", metadata, spec: { ports } },
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { ...metadata, labels: { "kubernetes.io/service-name": NAME } },
      addressType: "IPv4",
      ports,
      endpoints: [{ addresses: [addresses.node] }],
    },
  ];
}
