import { randomBytes } from "node:crypto";
import { dirname } from "node:path";
import type { Client } from "kube-controller-runtime";
import { adminClient, eventually, type LocalCluster } from "kube-controller-runtime/testing";
import { expect } from "vitest";
import { startOperatorCluster } from "../../../lab/cluster.ts";
import { type RunningOperator, startOperator } from "../../../lab/operator.ts";
import { type CoderProcessOptions, coderProcess } from "../../../lab/pod-runner/coder-process.ts";
import { LocalServices } from "../../../lab/pod-runner/local-services.ts";
import { PodRunner } from "../../../lab/pod-runner/pod-runner.ts";
import { type Database, type Postgres, startPostgres } from "../../../lab/postgres.ts";
import { fixedAddress, type Route } from "../../../src/coder/http/route.ts";
import type { CoderBinaries } from "../../../tools/coder/pins.ts";
import { CountingMetrics } from "../../support/counting-metrics.ts";
import { Secrets } from "../../support/leaks.ts";
import { SkewedClock } from "../../support/skewed-clock.ts";
import { CoderdGateway } from "./gateway.ts";

/** Generous, because the machine may be busy: coderd takes seconds to start, and longer to migrate its database. */
export const TIME_LIMIT = { withinMs: 60_000 };

/** No image with this tag can be pulled. */
export const MISSING_TAG = ":missing";

const STORY_LINES = 40;

/** A database with a user of its own, whose password can be changed. */
export interface OwnedDatabase extends Database {
  /** Gives the user another password and returns the URL with it. */
  changePassword(): Promise<string>;
}

/** What the pods run. */
type RunBinaries = Pick<CoderBinaries, "coder" | "terraform">;

type Parts = Pick<
  World,
  "binaries" | "cluster" | "postgres" | "person" | "services" | "gateway" | "clusterDomain"
> & {
  readonly owned: AsyncDisposableStack;
};

/**
 * A Kubernetes whose pods run the real Coder, and an operator under its own identity whose clock can be made to
 * jump. Nothing is simulated but the kubelet and the network.
 */
export class World implements AsyncDisposable {
  readonly binaries: RunBinaries;
  readonly cluster: LocalCluster;
  readonly postgres: Postgres;
  readonly person: Client;
  readonly services: LocalServices;
  readonly gateway: CoderdGateway;
  readonly clusterDomain: string;
  readonly #owned: AsyncDisposableStack;
  /** All that no log may show. */
  readonly secrets = new Secrets();
  readonly #operators: RunningOperator[] = [];
  readonly #clock = new SkewedClock();
  readonly #metrics = new CountingMetrics();

  private constructor(parts: Parts) {
    this.binaries = parts.binaries;
    this.cluster = parts.cluster;
    this.postgres = parts.postgres;
    this.person = parts.person;
    this.services = parts.services;
    this.gateway = parts.gateway;
    this.clusterDomain = parts.clusterDomain;
    this.#owned = parts.owned;
  }

  /** The names of Services are below the domain given, and nowhere else. */
  static async open(binaries: RunBinaries, clusterDomain = "cluster.local"): Promise<World> {
    await using owned = new AsyncDisposableStack();
    const starting = [
      startOperatorCluster({ controllerManager: true }).then((it) => owned.use(it)),
      startPostgres().then((it) => owned.adopt(it, (running) => running.stop())),
    ] as const;
    await Promise.allSettled(starting);
    const [cluster, postgres] = await Promise.all(starting);
    const person = await adminClient(cluster);
    const services = owned.use(new LocalServices(person, clusterDomain));
    const gateway = owned.use(await CoderdGateway.open(services));
    const parts = { binaries, cluster, postgres, person, services, gateway, clusterDomain };
    return new World({ ...parts, owned: owned.move() });
  }

  /** A namespace whose pods run `coder`, in which the image's `/opt/coder` is that file. */
  async namespace(
    prefix: string,
    coder: CoderProcessOptions["binary"] = this.binaries.coder,
  ): Promise<string> {
    const namespace = await this.cluster.createNamespace(prefix);
    const path = [dirname(this.binaries.terraform)];
    const isInRegistry = (image: string) => !image.endsWith(MISSING_TAG);
    const launch = coderProcess({ binary: coder, services: this.services, path, isInRegistry });
    this.#owned.use(new PodRunner({ client: this.person, launch, namespaces: [namespace] }));
    return namespace;
  }

  /** An empty database that a user of its own owns. */
  async database(): Promise<OwnedDatabase> {
    const { name, query } = await this.postgres.createDatabase("empty");
    const changePassword = async () => {
      const password = randomBytes(12).toString("hex");
      await query(`ALTER ROLE ${name} PASSWORD '${password}'`);
      return `postgres://${name}:${password}@127.0.0.1:${this.postgres.port}/${name}?sslmode=disable`;
    };
    await query(`CREATE ROLE ${name} LOGIN`);
    await query(`ALTER DATABASE ${name} OWNER TO ${name}`);
    return { name, query, changePassword, url: await changePassword() };
  }

  /** Starts the operator in this process; it runs until it is stopped, or to the end of the world. */
  async startOperator(coderdRoute = fixedAddress(this.gateway.url)): Promise<RunningOperator> {
    const operator = await startOperator(this.cluster, {
      coderdRoute,
      clusterDomain: this.clusterDomain,
      clock: this.#clock,
      observer: this.#metrics,
    });
    this.#operators.push(operator);
    return this.#owned.use(operator);
  }

  /** Straight to the Services of the cluster, as from inside it: with TLS, whose certificates are checked. */
  readonly direct: Route = async (coderd) => ({
    origin: await this.services.translate(coderd.origin),
    pathPrefix: "",
    headers: {},
  });

  /** What a person would look at first when a test fails: what the operator asked coderd, and what it logged. */
  story(): string {
    const asked = this.gateway.exchanges.map(
      ({ method, path, status }) => `${method} ${path} ${status ?? "…"}`,
    );
    const logged = this.#operators.flatMap(({ log }) =>
      log.filter(({ level }) => level !== "debug").map((line) => JSON.stringify(line)),
    );
    return [...asked.slice(-STORY_LINES), ...logged.slice(-STORY_LINES)].join("\n");
  }

  /** Secrets that the operator has logged, shortened. */
  leaks(): string[] {
    return this.#operators.flatMap(({ log }) => this.secrets.foundIn(JSON.stringify(log)));
  }

  /** Waits until no run is under way and none is due. */
  async untilIdle(): Promise<void> {
    await eventually(() => expect(this.#metrics.idle).toBe(true), TIME_LIMIT);
  }

  /** Lets the operator finish what it is at, and then its time pass. */
  async timePasses(ms: number): Promise<void> {
    await eventually(() => expect(this.#metrics.running).toBe(0), TIME_LIMIT);
    this.#clock.jump(ms);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}
