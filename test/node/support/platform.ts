import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { currentPlatform } from "kube-controller-runtime/testing/binaries";
import { mint } from "../../../lab/mint.ts";
import { type OpenDatabase, openDatabase } from "../../../lab/postgres.ts";
import type { ControlPlaneSpec } from "../../../src/api/v1alpha1/control-plane.ts";
import { coderBinaries } from "../../../tools/coder/binaries.ts";
import { type CoderBinaries, readPins } from "../../../tools/coder/pins.ts";
import { CoderdAdmin } from "../../e2e/support/coderd-admin.ts";
import { serverSettings } from "../../e2e/support/server-settings.ts";
import { Secrets } from "../../support/leaks.ts";
import { Assistant } from "./assistant.ts";
import { Cluster } from "./cluster.ts";
import { forwardPort } from "./port-forward.ts";

const PLUGIN = fileURLToPath(new URL("../../../src/kubectl-coder.ts", import.meta.url));
const API_VERSION = "coder.com/v1alpha1";
/** The name of the control plane. */
export const CODER = "coder";

/** How a command ended. */
export interface Seen {
  readonly out: string;
  readonly code: number;
}

type Parts = Pick<
  Platform,
  "cluster" | "namespace" | "workspaceNamespace" | "database" | "binaries" | "admin"
> & {
  readonly owned: AsyncDisposableStack;
};

/** The parts of a platform. */
export interface PlatformSpec {
  readonly controlPlane?: ControlPlaneSpec;
  /** Whether it has a license. True when absent. */
  readonly licensed?: boolean;
  /** Pools by their names. */
  readonly pools?: Readonly<Record<string, object>>;
  /** Which Coder runs in its pods and signs up its first user: the current one, or the older one to upgrade from. */
  readonly coder?: "coder" | "coder-old";
}

/** A Coder in real pods, with a license, a database of its own and a namespace for workspaces, and its first user. */
export class Platform implements AsyncDisposable {
  readonly cluster: Cluster;
  readonly namespace: string;
  readonly workspaceNamespace: string;
  readonly database: OpenDatabase;
  readonly binaries: Pick<CoderBinaries, "coder">;
  readonly admin: CoderdAdmin;
  /** All values that others must not see. */
  readonly secrets = new Secrets();
  readonly #owned: AsyncDisposableStack;

  private constructor({ owned, ...parts }: Parts) {
    this.cluster = parts.cluster;
    this.namespace = parts.namespace;
    this.workspaceNamespace = parts.workspaceNamespace;
    this.database = parts.database;
    this.binaries = parts.binaries;
    this.admin = parts.admin;
    this.#owned = owned;
  }

  /** Returns when the control plane and all pools are ready. */
  static async open(
    prefix: string,
    { controlPlane, licensed = true, pools = {}, coder = "coder" }: PlatformSpec = {},
  ): Promise<Platform> {
    await using owned = new AsyncDisposableStack();
    const cluster = new Cluster();
    const binaries = await coderBinaries(undefined, ["coder", coder]);
    const namespace = owned.adopt(await cluster.namespace(prefix), (name) => removed(cluster, name));
    const workspaceNamespace = owned.adopt(await cluster.namespace(`${prefix}-ws`), (name) =>
      removed(cluster, name),
    );
    const database = await createDatabase(cluster, owned);
    const [license] = await mint(binaries, "premium");
    await cluster.apply(secret(namespace, "coder-db", { url: `${database.url}?sslmode=disable` }));
    await cluster.apply(secret(namespace, "license", { license }));
    const licenseOf = licensed ? { licenseSecretRef: { name: "license" } } : {};
    await cluster.apply(
      controlPlaneOf(namespace, { image: imageOf(cluster, coder), ...licenseOf, ...controlPlane }),
    );
    for (const [name, spec] of Object.entries(pools)) {
      const rbac = { workspaceNamespaces: [workspaceNamespace] };
      await cluster.apply(poolOf({ namespace, name }, { rbac, ...spec }));
    }
    await untilReady(cluster, namespace, [`codercontrolplane/${CODER}`]);
    const forwarded = owned.use(await forwardPort(cluster.place, { namespace, service: CODER, port: 80 }));
    const admin = owned.use(await CoderdAdmin.signUp(forwarded.url, binaries[coder]));
    await untilReady(
      cluster,
      namespace,
      Object.keys(pools).map((name) => `coderprovisioner/${name}`),
    );
    const platform = new Platform({
      ...{ cluster, namespace, workspaceNamespace, database, binaries, admin },
      owned: owned.move(),
    });
    platform.secrets.add(database.url, license, admin.token);
    return platform;
  }

  /** Changes the spec of an object, as in `codercontrolplane/coder`. */
  async change(object: string, spec: object): Promise<void> {
    const args = ["patch", object, `--namespace=${this.namespace}`, "--type=merge"];
    await this.cluster.kubectl([...args, `--patch=${JSON.stringify({ spec })}`]);
  }

  /** `kubectl coder` from these sources, in the platform's namespace. The person is known to coderd. */
  async kubectlCoder(...words: string[]): Promise<Seen> {
    const env = { ...process.env, ...this.#personEnv(), COLUMNS: "400" };
    const args = [PLUGIN, ...words, "--namespace", this.namespace];
    return promisify(execFile)(process.execPath, args, { env, maxBuffer: 1 << 26 }).then(
      ({ stdout }) => ({ out: stdout, code: 0 }),
      ({ stdout, stderr, code }) => ({ out: `${stdout}${stderr}`, code }),
    );
  }

  /** An assistant at the other end of `kubectl coder mcp`, with the same rights. */
  async assistant(): Promise<Assistant> {
    const args = [PLUGIN, "mcp", "--namespace", this.namespace];
    return Assistant.start(args, { ...this.#personEnv(), PATH: process.env.PATH ?? "" });
  }

  /** Ends all connections to coderd's database and refuses new ones. */
  async stopDatabase(): Promise<void> {
    const { name } = this.database;
    await this.#asDatabaseAdmin(
      `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
    );
  }

  async startDatabase(): Promise<void> {
    await this.#asDatabaseAdmin(`ALTER DATABASE ${this.database.name} ALLOW_CONNECTIONS true`);
  }

  #personEnv() {
    return {
      KUBECONFIG: this.cluster.place.kubeconfig,
      CODER_URL: this.admin.url,
      CODER_SESSION_TOKEN: this.admin.token,
    };
  }

  async #asDatabaseAdmin(...statements: string[]): Promise<void> {
    const server = openDatabase({ url: this.cluster.place.postgresUrl, name: "postgres" });
    try {
      for (const statement of statements) await server.query(statement);
    } finally {
      await server.close();
    }
  }

  /** What a person would look at first when a test fails. */
  async story(): Promise<string> {
    const show = (...args: string[]) => this.cluster.kubectl(args).catch((error: Error) => error.message);
    const everything = await Promise.all([
      show("get", "coder,pods", "--namespace", this.namespace, "--output=wide"),
      show("get", "pods,pvc,deployments", "--namespace", this.workspaceNamespace, "--output=wide"),
      show("get", "events", "--namespace", this.workspaceNamespace),
      show("get", "events", "--namespace", this.namespace),
    ]);
    return everything.join("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}

/** Those of the finalizers that the operator has to release are waited for. */
async function removed(cluster: Cluster, namespace: string): Promise<void> {
  await cluster.kubectl(["delete", "namespace", namespace, "--ignore-not-found", "--timeout=180s"]);
}

/** A database that a user of its own owns. */
export async function createDatabase({ place }: Cluster, owned: AsyncDisposableStack): Promise<OpenDatabase> {
  const server = openDatabase({ url: place.postgresUrl, name: "postgres" });
  owned.defer(() => server.close());
  const name = `coder_${randomBytes(4).toString("hex")}`;
  const password = randomBytes(12).toString("hex");
  await server.query(`CREATE ROLE ${name} LOGIN PASSWORD '${password}'`);
  await server.query(`CREATE DATABASE ${name} OWNER ${name}`);
  owned.defer(async () => {
    await server.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await server.query(`DROP ROLE ${name}`);
  });
  const url = new URL(place.postgresUrl);
  [url.username, url.password, url.pathname] = [name, password, name];
  return owned.adopt(openDatabase({ url: url.href, name }), (database) => database.close());
}

function imageOf({ place }: Cluster, coder: "coder" | "coder-old"): string {
  const { version } = readPins(currentPlatform()).binaries[coder];
  return place.imagePrefix ? `${place.imagePrefix}/coder:${version}` : `ghcr.io/coder/coder:${version}`;
}

export function secret(
  namespace: string,
  name: string,
  stringData: Readonly<Record<string, string>>,
): object {
  return { apiVersion: "v1", kind: "Secret", metadata: { namespace, name }, stringData };
}

function controlPlaneOf(namespace: string, { extraEnv = [], ...spec }: ControlPlaneSpec): object {
  const url = {
    name: "CODER_PG_CONNECTION_URL",
    valueFrom: { secretKeyRef: { name: "coder-db", key: "url" } },
  };
  const settings = Object.entries(serverSettings).map(([name, value]) => ({ name, value }));
  return {
    apiVersion: API_VERSION,
    kind: "CoderControlPlane",
    metadata: { namespace, name: CODER },
    spec: { ...spec, extraEnv: [url, ...settings, ...extraEnv] },
  };
}

/** A pool of the control plane. */
export function poolOf(
  metadata: { readonly namespace: string; readonly name: string },
  spec: object,
): object {
  const whole = { controlPlaneRef: { name: CODER }, ...spec };
  return { apiVersion: API_VERSION, kind: "CoderProvisioner", metadata, spec: whole };
}

async function untilReady(cluster: Cluster, namespace: string, objects: readonly string[]): Promise<void> {
  for (const object of objects)
    await cluster.kubectl([
      "wait",
      "--for=condition=Ready",
      "--timeout=180s",
      "--namespace",
      namespace,
      object,
    ]);
}
