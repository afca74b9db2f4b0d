import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Client,
  CustomResourceDefinition,
  HttpClient,
  httpTransport,
  isNotFound,
  kind,
  loadCredentials,
  systemClock,
  type Transport,
} from "kube-controller-runtime";
import {
  type ClusterAccess,
  FakeApi,
  FaultyTransport,
  type Schema,
  startCluster,
} from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe } from "vitest";
import { sharedCluster } from "../../../../test/support/cluster/shared.ts";
import { groupOf, type Kind, type KubeObject, resourceName } from "../../src/object.ts";

/** An API server, fake or real, with the operations of a contract suite. */
export interface ApiUnderTest {
  readonly client: Client;
  /** Counts the requests of `client` and injects faults. */
  readonly transport: FaultyTransport;
  /** A client of another field manager, without faults. */
  readonly other: HttpClient;
  /** A namespace for exclusive use. */
  newNamespace(): Promise<string>;
  /** Starts to serve a custom kind; without a schema, any fields are allowed. */
  install(kind: Kind, schema?: Schema): Promise<void>;
  /** Stops serving a custom kind and deletes its objects. */
  uninstall(kind: Kind): Promise<void>;
  /** From now on, watches that were opened before can't be resumed. */
  expireHistory(): Promise<void>;
  close(): Promise<void>;
}

/** A custom kind with spec and status. */
export interface Widget extends KubeObject {
  spec?: { size?: number; color?: string };
  status?: { phase?: string; replicas?: number };
}

/** A kind that no API server has served before. */
export function newWidgetKind(): Kind<Widget> {
  const group = `t${randomBytes(4).toString("hex")}.example.com`;
  return kind<Widget>(`${group}/v1`, { kind: "Widget", plural: "widgets" });
}

/** Runs a suite against the fake and against a real API server, to verify that they behave the same. */
export function contract(name: string, suite: (api: () => ApiUnderTest) => void): void {
  describeWith(
    name,
    [
      ["the fake", startFake],
      ["a real", startShared],
    ],
    suite,
  );
}

/** The same with a dedicated real API server, for suites that break it. */
export function destructiveContract(name: string, suite: (api: () => ApiUnderTest) => void): void {
  describeWith(
    name,
    [
      ["the fake", startFake],
      ["a real", startOwn],
    ],
    suite,
  );
}

function describeWith(
  name: string,
  servers: [string, () => Promise<ApiUnderTest>][],
  suite: (api: () => ApiUnderTest) => void,
): void {
  describe.each(servers)(`${name}, with %s API server`, (_, start) => {
    let api: ApiUnderTest | undefined;
    beforeAll(async () => {
      api = await start();
    });
    afterAll(() => api?.close());
    suite(() => {
      if (!api) throw new Error("the API server is used before it was started");
      return api;
    });
  });
}

async function startFake(): Promise<ApiUnderTest> {
  const fake = new FakeApi(systemClock);
  return {
    ...clientsOver(fake),
    newNamespace: async () => `contract-${randomBytes(4).toString("hex")}`,
    install: async (kind, schema) => fake.install(kind, schema),
    uninstall: async (kind) => fake.uninstall(kind),
    expireHistory: async () => {
      fake.compact();
      fake.endWatches();
    },
    close: () => fake.close(),
  };
}

async function startShared(): Promise<ApiUnderTest> {
  const refuse = async () => {
    throw new Error("the shared API server must not be broken: use destructiveContract");
  };
  return overCluster(sharedCluster(), { expireHistory: refuse, stop: async () => {} });
}

async function startOwn(): Promise<ApiUnderTest> {
  const cluster = await startCluster();
  // The server's watch caches contain history that etcd has compacted, so they must restart too.
  const expireHistory = async () => {
    await cluster.compactHistory();
    await cluster.stopApiServer("SIGKILL");
    await cluster.startApiServer();
  };
  return overCluster(cluster, { expireHistory, stop: () => cluster.stop() });
}

async function overCluster(
  cluster: ClusterAccess,
  control: { expireHistory: () => Promise<void>; stop: () => Promise<void> },
): Promise<ApiUnderTest> {
  const transport = httpTransport(await loadCredentials({ kubeconfig: cluster.admin.kubeconfig }));
  const clients = clientsOver(transport);
  return {
    ...clients,
    newNamespace: () => cluster.createNamespace("contract"),
    install: (kind, schema) => installDefinition(clients.other, kind, schema),
    uninstall: (kind) => removeDefinition(clients.other, kind),
    expireHistory: control.expireHistory,
    close: async () => {
      await transport.close();
      await control.stop();
    },
  };
}

function clientsOver(server: Transport): Pick<ApiUnderTest, "client" | "transport" | "other"> {
  const transport = new FaultyTransport(server);
  return {
    transport,
    client: newClient(transport, "contract"),
    other: newClient(server, "another-client"),
  };
}

function newClient(transport: Transport, fieldManager: string): HttpClient {
  return new HttpClient({ transport, clock: systemClock, fieldManager, userAgent: "contract-tests" });
}

const ANY_FIELDS = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

async function installDefinition(client: Client, kind: Kind, given: Schema = ANY_FIELDS): Promise<void> {
  const [, version = "v1"] = kind.apiVersion.split("/");
  const schema = { openAPIV3Schema: given as { type: string } };
  await client.create(CustomResourceDefinition, {
    metadata: { name: resourceName(kind) },
    spec: {
      group: groupOf(kind),
      scope: kind.namespaced ? "Namespaced" : "Cluster",
      names: { kind: kind.kind, plural: kind.plural },
      versions: [{ name: version, served: true, storage: true, schema, subresources: { status: {} } }],
    },
  });
  await until(() => isServed(client, kind));
}

async function removeDefinition(client: Client, kind: Kind): Promise<void> {
  const ref = { name: resourceName(kind) };
  await client.delete(CustomResourceDefinition, ref);
  const isGone = () => client.get(CustomResourceDefinition, ref).then(() => false, isNotFound);
  await until(isGone);
}

function isServed(client: Client, kind: Kind): Promise<boolean> {
  return client.list(kind).then(
    () => true,
    () => false,
  );
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; !(await holds()); attempt++) {
    if (attempt > 100) throw new Error("a custom kind was not installed or removed within ten seconds");
    await sleep(100);
  }
}
