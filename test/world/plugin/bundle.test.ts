import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inflateRawSync } from "node:zlib";
import { CoreEvent, Deployment, Pod, Secret, type Transport } from "kube-controller-runtime";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CoderControlPlane, CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import { zip } from "../../../src/plugin/commands/bundle/zip.ts";
import { kubectlCoder, limited } from "../../support/plugin.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

/** In every place where a secret might be; whatever has this in it must not be in the zip. */
const MARK = "mArKeD";
const secret = (where: string) => `${MARK}-${where}-0123456789`;

const world = new MemoryWorld();
let dir: string;
const labels = {
  "app.kubernetes.io/managed-by": "coder-k8s",
  "app.kubernetes.io/name": "coder-control-plane",
};
const at = (name: string) => ({ namespace: "dev", name });
const encoded = (text: string) => Buffer.from(text).toString("base64");

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "coder-k8s-bundle-"));
  const applied = { "kubectl.kubernetes.io/last-applied-configuration": secret("applied") };
  await world.person.create(CoderControlPlane, {
    metadata: { ...at("coder"), annotations: { ...applied, "example.com/note": secret("annotation") } },
    spec: {
      extraEnv: [
        { name: "CODER_PG_CONNECTION_URL", value: `postgres://coder:${secret("env")}@db/coder` },
        { name: "CODER_ANY", value: secret("plain-env") },
        { name: "CODER_REF", valueFrom: { secretKeyRef: { name: "own", key: "token" } } },
      ],
      extraArgs: [`--oauth2-github-client-secret=${secret("arg")}`],
      podAnnotations: { "vault.example.com/inject": secret("pod-annotation") },
    },
  });
  const message = `login as coder:${secret("own")} failed; postgres://u:${secret("url")}@db`;
  const condition = { type: "Ready", status: "False", reason: "Failing", message };
  const conditions = [{ ...condition, lastTransitionTime: "2026-01-01T00:00:00Z" }];
  await world.person.patchStatus(CoderControlPlane, at("coder"), { status: { conditions } });
  await world.person.create(CoderProvisioner, {
    metadata: at("linux"),
    spec: { controlPlaneRef: { name: "coder" } },
  });
  await world.person.create(Secret, {
    metadata: { ...at("own"), labels, annotations: { "example.com/copy": encoded(secret("own")) } },
    data: {
      token: encoded(secret("own")),
      "tls.key": encoded(`-----BEGIN KEY-----\n${secret("pem-line-of-a-key")}\n`),
    },
  });
  const container = {
    name: "coder",
    image: "coder:1",
    command: ["sh", "-c", secret("command")],
    args: [secret("args")],
  };
  const env = [{ name: "A", value: secret("container-env") }];
  await world.person.create(Deployment, {
    metadata: { ...at("coder"), labels },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ ...container, env }] } },
    },
  });
  const containerStatus = { name: "coder", image: "coder:1", imageID: "", ready: true, restartCount: 1 };
  await world.person.create(Pod, {
    metadata: { ...at("coder-1"), labels },
    spec: { containers: [{ ...container, env }] },
  });
  const status = { phase: "Running", containerStatuses: [containerStatus] };
  await world.person.patchStatus(Pod, at("coder-1"), { status });
  await world.person.create(CoreEvent, {
    metadata: at("coder-1.1"),
    involvedObject: { kind: "Pod", name: "coder-1", namespace: "dev" },
    message: `bearer ${secret("event")}`,
  });
});
afterAll(() => rm(dir, { recursive: true }));

/** The API server with logs, as kubelets would give them. */
const withLogs: Transport = {
  close: async () => {},
  send: async (request) => {
    if (!/\/log\?|\/version$/.test(request.path)) return world.api.send(request);
    const which = request.path.includes("previous") ? "before" : "now";
    const text = `${which}: token=${secret("own")} key ${secret("pem-line-of-a-key")} AbCdEfGhIj-${"x".repeat(22)}\n`;
    return { status: 200, headers: {}, body: bytes(Buffer.from(text)) };
  },
};

async function* bytes(body: Uint8Array): AsyncGenerator<Uint8Array> {
  yield body;
}

/** The files of an archive, read by its central directory as unzip does. */
async function unzipped(path: string): Promise<Map<string, string>> {
  const archive = await readFile(path);
  const end = archive.length - 22;
  const files = new Map<string, string>();
  let entry = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left--) {
    const [packed, nameLength] = [archive.readUInt32LE(entry + 20), archive.readUInt16LE(entry + 28)];
    const local = archive.readUInt32LE(entry + 42);
    const name = archive.toString("utf8", entry + 46, entry + 46 + nameLength);
    const body = local + 30 + archive.readUInt16LE(local + 26);
    files.set(name, inflateRawSync(archive.subarray(body, body + packed)).toString("utf8"));
    entry += 46 + nameLength;
  }
  return files;
}

test("a bundle has everything that helps, prints what it has, and none of the secrets", async () => {
  const file = join(dir, "all.zip");
  const person = { transport: withLogs, clock: world.clock, namespace: "dev" };
  const { code, out } = await kubectlCoder(person, "bundle", "--file", file);
  const files = await unzipped(file);
  expect(code).toBe(0);
  expect([...files.keys()]).toEqual(
    expect.arrayContaining([
      "about.json",
      "events.yaml",
      "secrets.yaml",
      "kubernetes/version.json",
      "logs/dev/coder-1/coder.log",
      "logs/dev/coder-1/coder.previous.log",
      "objects/dev/codercontrolplane/coder.yaml",
      "objects/dev/coderprovisioner/linux.yaml",
      "objects/dev/deployment/coder.yaml",
      "objects/dev/pod/coder-1.yaml",
    ]),
  );
  for (const name of files.keys()) expect(out).toContain(name);
  for (const [name, text] of [...files, ["(output)", out]] as const) {
    expect(text, name).not.toContain(MARK);
    expect(text, name).not.toContain(encoded(MARK).slice(0, 6));
    expect(text, name).not.toContain("x".repeat(22));
  }
  expect(files.get("secrets.yaml")).toContain("key: tls.key");
  expect(files.get("objects/dev/codercontrolplane/coder.yaml")).toContain("name: CODER_PG_CONNECTION_URL");
  expect(files.get("logs/dev/coder-1/coder.log")).toMatch(/^now: token=\[redacted\] key \[redacted\]/);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

test("an existing file is never overwritten", async () => {
  const person = { transport: withLogs, clock: world.clock, namespace: "dev" };
  const { code, error } = await kubectlCoder(person, "bundle", "--file", join(dir, "all.zip"));
  expect(code).toBe(1);
  expect(error).toContain("could not be written: EEXIST");
});

test("a person who may not see Secrets or logs gets the rest, and a line for each in the bundle too", async () => {
  const file = join(dir, "some.zip");
  const transport = limited(withLogs, ({ path }) => !/secrets|\/log\?|deployments\?/.test(path));
  const { code, out } = await kubectlCoder(
    { transport, clock: world.clock, namespace: "dev" },
    "bundle",
    "--file",
    file,
  );
  expect(code).toBe(0);
  const about = JSON.parse((await unzipped(file)).get("about.json") ?? "");
  for (const line of [
    'You may not list secrets in namespace "dev".',
    'You may not get the logs of pods in namespace "dev".',
  ]) {
    expect(about.gaps).toContain(line);
    expect(out).toContain(line);
  }
});

test("coderd's health and queue are in it where the person may ask, without the person's token", async () => {
  const file = join(dir, "coderd.zip");
  const fetch = async (url: string | URL | Request) =>
    String(url).includes("debug/health")
      ? new Response(JSON.stringify({ healthy: true, seen: secret("person") }))
      : new Response("no", { status: 403 });
  const env = { CODER_URL: "https://coder.example.com", CODER_SESSION_TOKEN: secret("person") };
  const person = { transport: withLogs, clock: world.clock, namespace: "dev", env, fetch };
  expect((await kubectlCoder(person, "bundle", "--file", file)).code).toBe(0);
  const files = await unzipped(file);
  expect(files.get("coderd/debug-health.json")).toContain('"healthy": true');
  expect([...files.values()].join("\n")).not.toContain(MARK);
});

test("the archive holds names and contents of any kind and size", async () => {
  const entries = [
    { path: "a/b.txt", text: "hello" },
    { path: "ü.txt", text: "x".repeat(100_000) },
  ];
  const file = join(dir, "plain.zip");
  await writeFile(file, zip(entries, new Date(Date.UTC(2026, 0, 2, 3, 4, 6))));
  expect(await unzipped(file)).toEqual(new Map(entries.map(({ path, text }) => [path, text])));
});
