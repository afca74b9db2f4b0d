import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Client, Deployment, Secret } from "kube-controller-runtime";
import { adminClient, type ClusterAccess, eventually } from "kube-controller-runtime/testing";
import { expect } from "vitest";
import { aControlPlane } from "../../../lab/builders.ts";
import { PostgresAccounts } from "../../../lab/coderd/accounts.ts";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import { fakeLicense } from "../../../lab/coderd/licenses.ts";
import { startCoderdServer } from "../../../lab/coderd/server.ts";
import { type OperatorProcess, startOperatorProcess } from "../../../lab/operator-process.ts";
import { CoderControlPlane, CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import { sharedPostgres } from "../../support/shared-postgres.ts";
import { STOPPED_AT } from "../../support/stopping-operator/marker.ts";

const ENTRY = fileURLToPath(new URL("../../support/stopping-operator/main.ts", import.meta.url));
const PROVISIONERS = ["pool-a", "pool-b", "pool-c"];
/** Control planes without access to coderd: more work at the same time. */
const OTHERS = ["other-a", "other-b", "other-c"];
const POLL_MS = 200;

/** The requests of a process so far. */
interface Sent {
  readonly kubernetes: readonly string[];
  readonly coderd: number;
  readonly postgres: readonly string[];
}

interface Parts {
  readonly cluster: ClusterAccess;
  readonly namespace: string;
  readonly person: Client;
  readonly operator: OperatorProcess;
  readonly coderd: CoderdDeployment;
  readonly relay: Pick<CountingRelay, "sent">;
  readonly databaseUrl: string;
  readonly owned: AsyncDisposableStack;
}

/**
 * An operator that stops itself at an act of its choice, alone in a namespace with a Lease of its own, a coderd and
 * a database. All that it sends is counted.
 */
export class StoppingFixture implements AsyncDisposable {
  readonly #parts: Parts;
  readonly #end = new AbortController();

  /** Use `openScene`. */
  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get operator(): OperatorProcess {
    return this.#parts.operator;
  }

  /** Makes objects that need Kubernetes, coderd and the database, and plays the kubelet for them from then on. */
  async load(): Promise<void> {
    const { person, namespace, databaseUrl } = this.#parts;
    const data = { url: Buffer.from(databaseUrl).toString("base64") };
    await person.create(Secret, { metadata: { namespace, name: "db" }, data });
    const valueFrom = { secretKeyRef: { name: "db", key: "url" } };
    const spec = { operatorAccess: {}, extraEnv: [{ name: "CODER_PG_CONNECTION_URL", valueFrom }] };
    const others = OTHERS.map((name) => aControlPlane({ namespace, name }));
    await Promise.all([
      ...[aControlPlane({ namespace, spec }), ...others].map((object) =>
        person.create(CoderControlPlane, object),
      ),
      ...PROVISIONERS.map((name) =>
        person.create(CoderProvisioner, {
          metadata: { namespace, name },
          spec: { controlPlaneRef: { name: "coder" } },
        }),
      ),
    ]);
    void this.#playKubelet();
  }

  async untilStopped(withinMs: number): Promise<void> {
    await eventually(() => expect(this.operator.output).toContain(STOPPED_AT), { withinMs });
  }

  /** The Lease is left out: its writes name the version that they replace, so they can't harm. */
  async sent(): Promise<Sent> {
    const { cluster, namespace, coderd, relay } = this.#parts;
    const writes = (await cluster.auditRequests()).filter(
      ({ user, verb, namespace: where, resource }) =>
        user === cluster.operator.user &&
        where === namespace &&
        resource !== "leases" &&
        !["get", "list", "watch"].includes(verb),
    );
    return {
      kubernetes: writes.map(({ at, verb, uri }) => `${at.toISOString()} ${verb} ${uri}`),
      coderd: coderd.count(),
      postgres: relay.sent(),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort();
    await this.#parts.owned.disposeAsync();
  }

  async #playKubelet(): Promise<void> {
    const { cluster, person, namespace } = this.#parts;
    while (!this.#end.signal.aborted) {
      const { items } = await person.list(Deployment, { namespace });
      const waiting = items.filter(({ status }) => !status?.readyReplicas);
      await Promise.all(waiting.map(({ metadata }) => cluster.markDeploymentReady(namespace, metadata.name)));
      await sleep(POLL_MS, undefined, { signal: this.#end.signal }).catch(() => undefined);
    }
  }
}

/** Opens a fixture whose operator leads and will stop at `stopAt`, once there is a load. */
export async function openFixture(cluster: ClusterAccess, stopAt: string): Promise<StoppingFixture> {
  await using opening = new AsyncDisposableStack();
  const [namespace, person, server] = await Promise.all([
    cluster.createNamespace("stopping"),
    adminClient(cluster),
    startCoderdServer(),
  ]);
  opening.defer(() => server.close());
  const postgres = opening.adopt(sharedPostgres(), (databases) => databases.stop());
  const url = new URL((await postgres.createDatabase("migrated")).url);
  const host = `coder.${namespace}.svc.cluster.local`;
  const coderd = server.add({ accounts: new PostgresAccounts(url.href) }, { host });
  coderd.addLicense(fakeLicense());
  const relay = opening.use(await startRelay({ host: url.hostname, port: Number(url.port) }));
  url.port = String(relay.port);
  const flags = [
    `--namespaces=${namespace}`,
    `--leader-election-namespace=${namespace}`,
    `--coderd-access=${server.url}`,
    `--stop-at=${stopAt}`,
  ];
  const operator = opening.use(await startOperatorProcess(cluster, flags, ENTRY));
  const owned = opening.move();
  return new StoppingFixture({
    cluster,
    namespace,
    person,
    operator,
    coderd,
    relay,
    databaseUrl: url.href,
    owned,
  });
}

/** A way to a TCP server that keeps what clients send. */
interface CountingRelay extends AsyncDisposable {
  readonly port: number;
  /** The pieces of data that clients have sent so far, as far as they can be read. */
  sent(): readonly string[];
}

async function startRelay(target: { host: string; port: number }): Promise<CountingRelay> {
  const sockets = new Set<Socket>();
  const sent: string[] = [];
  const server = createServer((client) => {
    const upstream = connect(target);
    client.on("data", (data) => sent.push(data.toString("latin1").replaceAll(/[^ -~]+/g, " ")));
    client.pipe(upstream).pipe(client);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => other.destroy());
      socket.once("close", () => sockets.delete(socket));
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    sent: () => [...sent],
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
