import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Client, ConfigMap, find, Namespace } from "kube-controller-runtime";
import { adminClient, eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sharedCluster } from "../../../test/support/cluster/shared.ts";
import { type PackedRuntime, packRuntime } from "../../../tools/package/package.ts";
import { Team } from "../examples/team-operator/src/team.ts";
import { ThirdParty } from "./support/third-party.ts";

const soon = { withinMs: 15_000 };
const required = ["undici", "yaml"];
const PROGRAMS = fileURLToPath(new URL("../testing/node/programs", import.meta.url));

let out: string;
let packed: PackedRuntime;
let thirdParty: ThirdParty;
beforeAll(async () => {
  out = await mkdtemp(join(tmpdir(), "kube-controller-runtime-"));
  packed = await packRuntime(out);
  const optional = ["prom-client", "@kubernetes/client-node", "@types/node"];
  thirdParty = await ThirdParty.install(packed.tarball, [...required, ...optional]);
});
afterAll(async () => {
  await thirdParty?.[Symbol.asyncDispose]();
  if (out) await rm(out, { recursive: true, force: true });
});

describe("the packed runtime", () => {
  test("contains code, declarations, documents, pins and the Go programs of a node, and no tests", async () => {
    const { stdout } = await promisify(execFile)("tar", ["-tzf", packed.tarball]);
    const files = stdout.trim().split("\n");
    const unexpected = files.filter(
      (file) =>
        !/^package\/((src|testing)\/.*\.(js|d\.ts)|testing\/.*\/(go\.(mod|sum)|main\.go)|[^/]+)$/.test(file),
    );
    expect(unexpected).toEqual([]);
    expect(files.filter((file) => /\.test\.|\/test\//.test(file))).toEqual([]);
    for (const document of ["README.md", "LICENSE", "package.json"])
      expect(files).toContain(`package/${document}`);
    const programs = await readdir(PROGRAMS, { recursive: true, withFileTypes: true });
    const packedPrograms = programs
      .filter((each) => each.isFile())
      .map(({ parentPath, name }) =>
        join("package/testing/node/programs", relative(PROGRAMS, parentPath), name),
      );
    expect(packedPrograms.length).toBeGreaterThan(3);
    expect(files).toEqual(expect.arrayContaining(packedPrograms));
  });

  test("names no path of the machine that packed it", async () => {
    const folder = join(out, "kube-controller-runtime");
    const machine = [process.cwd(), out, tmpdir() === "/tmp" ? "/tmp/" : tmpdir()];
    for (const file of await readdir(folder, { recursive: true, withFileTypes: true })) {
      if (!file.isFile()) continue;
      const text = await readFile(join(file.parentPath, file.name), "utf8");
      for (const path of machine) expect(text.includes(path), `${file.name} names ${path}`).toBe(false);
    }
  });

  test("declares what it needs, and what only some need as optional", () => {
    const { manifest } = packed;
    expect(Object.keys(manifest.dependencies as object)).toEqual(required);
    const peers = Object.keys(manifest.peerDependencies as object);
    expect(peers).toEqual(["@kubernetes/client-node", "pino", "prom-client"]);
    for (const peer of peers)
      expect((manifest.peerDependenciesMeta as Record<string, object>)[peer]).toEqual({ optional: true });
    expect(manifest.version).toMatch(/^\d+\.\d+\.\d+$/);
  });

  test("runs without its optional peers and without a test framework", async () => {
    await using lean = await ThirdParty.install(packed.tarball, required);
    const entries = ["", "/pino", "/testing", "/testing/binaries", "/testing/node"];
    const names = await lean.exportsOf(...entries.map((entry) => `kube-controller-runtime${entry}`));
    expect(names).toEqual(
      expect.arrayContaining(["runOperator", "pinoLogger", "FakeApi", "preparedBinaries", "startNode"]),
    );
    await expect(lean.exportsOf("kube-controller-runtime/prometheus")).rejects.toThrow("prom-client");
  });

  test("can only be imported by its entries", async () => {
    await expect(thirdParty.exportsOf("kube-controller-runtime/src/manager.js")).rejects.toThrow(
      "ERR_PACKAGE_PATH_NOT_EXPORTED",
    );
  });

  test("has types that a strict project accepts", async () => {
    const errors = await thirdParty.compile("--skipLibCheck", "false");
    // Declarations of other packages are out of scope.
    expect(errors.filter((error) => /^(src|node_modules\/kube-controller-runtime)\//.test(error))).toEqual(
      [],
    );
  });
});

/** The company's directory: entries by ID, and whether it responds. */
interface Directory {
  readonly url: string;
  readonly entries: Map<string, { name: string; members: string[] }>;
  broken: boolean;
  readonly server: Server;
}

async function startDirectory(): Promise<Directory> {
  const server = createServer(async (request, response) => {
    const id = request.url?.split("/").at(-1) ?? "";
    const body = Buffer.concat(await request.toArray()).toString();
    if (directory.broken) return response.writeHead(503).end();
    if (request.method === "PUT") directory.entries.set(id, JSON.parse(body));
    else directory.entries.delete(id);
    return response.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const directory: Directory = { url, entries: new Map(), broken: false, server };
  return directory;
}

describe("an operator of a third party that uses the package", () => {
  const cluster = sharedCluster();
  let person: Client;
  let directory: Directory;
  beforeAll(async () => {
    person = await adminClient(cluster);
    directory = await startDirectory();
    await cluster.install(join(thirdParty.folder, "crd.yaml"));
  });
  afterAll(() => void directory?.server.close());

  function startOperator(leaseNamespace: string) {
    return spawn(process.execPath, ["src/main.ts"], {
      cwd: thirdParty.folder,
      env: {
        PATH: process.env.PATH,
        KUBECONFIG: cluster.admin.kubeconfig,
        POD_NAMESPACE: leaseNamespace,
        DIRECTORY_URL: directory.url,
        PROBE_ADDRESS: "127.0.0.1:0",
        METRICS_ADDRESS: "127.0.0.1:0",
      },
      stdio: ["ignore", "ignore", "inherit"],
    });
  }

  const ready = async (name: string) => {
    const [condition] = (await person.get(Team, { name })).status?.conditions ?? [];
    return condition && `${condition.status} ${condition.reason}`;
  };

  test("makes children of a cluster-scoped owner, keeps the outside in step, and cleans up before the end", async () => {
    const operator = startOperator(await cluster.createNamespace("team-operator"));
    const ended = once(operator, "exit");
    const name = `n${Date.now().toString(36)}`;
    const namespace = `team-${name}`;
    const { uid } = (await person.create(Team, { metadata: { name }, spec: { members: ["ada"] } })).metadata;
    await eventually(async () => expect(await ready(name)).toBe("True Entered"), soon);
    expect(directory.entries.get(uid)).toEqual({ name, members: ["ada"] });
    expect((await person.get(Namespace, { name: namespace })).metadata.ownerReferences?.[0]?.uid).toBe(uid);
    const members = async () => (await person.get(ConfigMap, { namespace, name: "members" })).data?.members;
    expect(await members()).toBe("ada");

    await person.mergePatch(Team, { name }, { spec: { members: ["ada", "grace"] } });
    await eventually(async () => expect(await members()).toBe("ada\ngrace"), soon);
    await eventually(() => expect(directory.entries.get(uid)?.members).toEqual(["ada", "grace"]), soon);

    directory.broken = true;
    await person.delete(Team, { name });
    await eventually(async () => expect(await ready(name)).toBe("False DirectoryUnreachable"), soon);
    expect(directory.entries.has(uid)).toBe(true);
    directory.broken = false;
    await eventually(async () => expect(await find(person, Team, { name })).toBeUndefined(), soon);
    expect(directory.entries.has(uid)).toBe(false);

    operator.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
  });
});
