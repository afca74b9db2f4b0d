import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { ConfigMap, CoreEvent, Deployment, Pod, Secret, type Transport } from "kube-controller-runtime";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { CoderControlPlane, CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import { zip } from "../../../src/plugin/commands/bundle/zip.ts";
import { kubectlCoder, limited, type Person } from "../../support/plugin.ts";
import { unzipped } from "../../support/unzipped.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

/** In every place where a secret might be; whatever has this in it must not be in the zip. */
const MARK = "mArKeD";
const secret = (where: string) => `${MARK}-${where}-0123456789`;

/** Helm takes such a one for a number. */
const PIN = 4_711_081_512;

const world = new MemoryWorld();
let dir: string;
const INSTANCE = "app.kubernetes.io/instance";
const labels = {
  [INSTANCE]: "coder",
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
        { name: "CODER_FROM_MAP", valueFrom: { configMapKeyRef: { name: "more", key: "password" } } },
        { name: "CODER_REF", valueFrom: { secretKeyRef: { name: "own", key: "token" } } },
      ],
      extraArgs: [`--oauth2-github-client-secret=${secret("arg")}`],
      podAnnotations: {
        "vault.example.com/inject": secret("pod-annotation"),
        "nginx.ingress.kubernetes.io/configuration-snippet": secret("snippet"),
        "coder.com/note": secret("note"),
      },
      envFrom: [{ configMapRef: { name: "settings" } }],
    },
  });
  await world.person.create(ConfigMap, {
    metadata: at("settings"),
    data: { CODER_OAUTH2_GITHUB_CLIENT_SECRET: "of-a-config-map", CODER_VERBOSE: "verbosely" },
  });
  await world.person.create(ConfigMap, { metadata: at("more"), data: { password: secret("map-key") } });
  await world.person.create(ConfigMap, {
    metadata: { ...at("ours"), labels },
    data: { anything: secret("map-of-ours") },
  });
  await world.person.create(Secret, {
    metadata: { ...at("sh.helm.release.v1.coder.v1"), labels: { owner: "helm" } },
    type: "helm.sh/release.v1",
    data: { release: helmRelease() },
  });
  await world.person.create(Secret, {
    metadata: at("of-others"),
    data: { key: encoded("no-secret"), label: encoded("app.kubernetes.io/name") },
  });
  for (const [name, content] of Object.entries({ empty: "null", damaged: "{" }))
    await world.person.create(Secret, {
      metadata: at(name),
      type: "helm.sh/release.v1",
      data: { release: encoded(encoded(content)) },
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
  await world.person.create(Deployment, {
    metadata: { ...at("coder-k8s"), labels: operatorLabels },
    spec: { selector: {}, template: {} },
  });
  await world.person.create(Pod, {
    metadata: { ...at("operator-1"), labels: operatorLabels },
    spec: { containers: [] },
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
    message: `bearer ${secret("event")} ${quotes}`,
  });
});
afterAll(() => rm(dir, { recursive: true }));

const operatorLabels = { "app.kubernetes.io/name": "coder-k8s" };

/** As Helm keeps it, with what people give by --set in plain text. */
function helmRelease(): string {
  const env = [{ name: "CODER_PG_CONNECTION_URL", value: `postgres://coder:${secret("helm-url")}@db/coder` }];
  const expression = { key: INSTANCE, operator: "In", values: ["coder"] };
  const config = {
    coder: { env, oidc: { clientSecret: secret("helm-value") }, tls: { secretName: "kept-name" } },
    db: { password: PIN, auth: { secretKeys: { userPasswordKey: "password" } } },
    store: { s3SecretKey: secret("helm-key") },
    extraArgs: ["--oidc-client-secret", secret("helm-flag")],
    image: { pullSecrets: [{ name: "registry" }] },
    affinity: { terms: [{ matchExpressions: [expression], topologyKey: "kubernetes.io/hostname" }] },
  };
  const release = { name: "coder", chart: { metadata: { name: "any" }, values: {} }, config };
  return encoded(gzipSync(JSON.stringify(release)).toString("base64"));
}

/** What a program might write of what it was given, and what that looks like in a bundle. */
const quoted = [...["map-key", "helm-url", "helm-value", "helm-key", "helm-flag"].map(secret), PIN];
const quotes = quoted.join(" ");
const hidden = quoted.map(() => "[redacted]").join(" ");

/** Names that are not secrets, although their fields mention one. */
const plain = "kept-name registry password kubernetes.io/hostname";

/** The API server with logs, as kubelets would give them. */
const withLogs: Transport = {
  close: async () => {},
  send: async (request) => {
    if (request.path.includes("/proxy/metrics"))
      return { status: 200, headers: {}, body: bytes(Buffer.from(`up{x="${quotes}"} 1 ${plain}\n`)) };
    if (!/\/log\?|\/version$/.test(request.path)) return world.api.send(request);
    const which = request.path.includes("previous") ? "before" : "now";
    if (/hangs/.test(request.path)) throw new DOMException("The operation timed out.", "TimeoutError");
    const text = `${which}: token=${secret("own")} key ${secret("pem-line-of-a-key")} AbCdEfGhIj-${"x".repeat(22)} of-a-config-map verbosely ${quotes}\n`;
    return { status: 200, headers: {}, body: bytes(Buffer.from(text)) };
  },
};

async function* bytes(body: Uint8Array): AsyncGenerator<Uint8Array> {
  yield body;
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
    expect(text, name).not.toContain(`${PIN}`);
  }
  expect(files.get("secrets.yaml")).toContain("key: tls.key");
  expect(files.get("objects/dev/codercontrolplane/coder.yaml")).toContain("name: CODER_PG_CONNECTION_URL");
  expect(files.get("logs/dev/coder-1/coder.log")).toBe(
    `now: token=[redacted] key [redacted] [redacted] [redacted] verbosely ${hidden}\n`,
  );
  expect(files.get("metrics/operator-1.txt")).toBe(`up{x="${hidden}"} 1 ${plain}\n`);
  expect(files.get("objects/dev/configmap/ours.yaml")).toContain('data: "[redacted]"');
  expect(files.get("secrets.yaml")).not.toMatch(/of-others|helm/);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

test("labels remain readable, although a Secret or a Helm release contains their keys", async () => {
  const { files } = await bundled("labels.zip", {});
  const { metadata } = parse(files.get("objects/dev/pod/coder-1.yaml") ?? "");
  expect(metadata.labels).toEqual(labels);
  const [own] = parse(files.get("secrets.yaml") ?? "");
  expect(own.metadata.labels).toEqual(labels);
  const { spec } = parse(files.get("objects/dev/deployment/coder.yaml") ?? "");
  expect(spec.selector.matchLabels).toEqual(labels);
});

test("a Helm release that can't be read is a line, and costs nothing else", async () => {
  const { about } = await bundled("releases.zip", {});
  expect(about.gaps).toContain(
    `Could not read the Helm release in Secret "dev/damaged": its values can't be redacted.`,
  );
  expect(about.gaps.join("\n")).not.toContain("dev/empty");
});

test("an existing file is never overwritten", async () => {
  const person = { transport: withLogs, clock: world.clock, namespace: "dev" };
  const { code, error } = await kubectlCoder(person, "bundle", "--file", join(dir, "all.zip"));
  expect(code).toBe(1);
  expect(error).toContain("could not be written: EEXIST");
});

test("a user who may not read logs gets everything else, and a line about it in the bundle", async () => {
  const transport = limited(withLogs, ({ path }) => !/\/log\?|deployments\?/.test(path));
  const { out, about } = await bundled("no-logs.zip", { transport });
  const line = 'You may not get the logs of pods in namespace "dev".';
  expect(about.gaps).toContain(line);
  expect(out).toContain(line);
});

test("without permission to list Secrets a bundle has no logs and no events, which might quote one", async () => {
  const transport = limited(withLogs, ({ path }) => !/secrets/.test(path));
  const { out, about, files } = await bundled("no-secrets.zip", { transport });
  expect([...files.keys()].filter((path) => path.startsWith("logs/"))).toEqual([]);
  expect(files.get("events.yaml")).toBe("[]\n");
  expect(files.has("objects/dev/pod/coder-1.yaml")).toBe(true);
  const line = `Logs and events of namespace "dev" are omitted: its Secrets could not be read, so their values can't be redacted.`;
  expect(about.gaps).toEqual(expect.arrayContaining(['You may not list secrets in namespace "dev".', line]));
  expect(out.replace(/\s+/g, " ")).toContain(line);
});

test("a log that does not answer is a line, and costs nothing else", async () => {
  const transport: Transport = {
    ...withLogs,
    send: (request) =>
      withLogs.send({ ...request, path: request.path.replace(/log(?=\?.*previous)/, "hangs/log") }),
  };
  const { about, files } = await bundled("hangs.zip", { transport });
  expect(files.has("logs/dev/coder-1/coder.log")).toBe(true);
  expect(files.has("logs/dev/coder-1/coder.previous.log")).toBe(false);
  expect(about.gaps).toContain(
    "Could not read logs/dev/coder-1/coder.previous.log: The operation timed out.",
  );
});

test("the log of a container that has not started is one line, and costs no other", async () => {
  const message = 'container "coder" in pod "coder-1" is waiting to start: ContainerCreating';
  const transport: Transport = {
    ...withLogs,
    send: async (request) =>
      request.path.includes("previous")
        ? { status: 400, headers: {}, body: bytes(Buffer.from(JSON.stringify({ kind: "Status", message }))) }
        : withLogs.send(request),
  };
  const { about, files } = await bundled("starting.zip", { transport });
  expect(files.has("logs/dev/coder-1/coder.log")).toBe(true);
  expect(about.gaps).toContain(`Could not read logs/dev/coder-1/coder.previous.log: ${message}.`);
  expect(about.gaps.join("\n")).not.toContain("logs of pods in namespace");
});

test("no more than eight logs are read at a time", async () => {
  const container = { image: "coder:1", imageID: "", ready: true, restartCount: 0 };
  const containerStatuses = Array.from({ length: 30 }, (_, number) => ({ ...container, name: `c${number}` }));
  await world.person.create(Pod, { metadata: { ...at("many"), labels }, spec: { containers: [] } });
  await world.person.patchStatus(Pod, at("many"), { status: { phase: "Running", containerStatuses } });
  let [now, most] = [0, 0];
  const send: Transport["send"] = async (request) => {
    if (!request.path.includes("/log?")) return withLogs.send(request);
    most = Math.max(most, ++now);
    await Promise.resolve();
    const response = await withLogs.send(request);
    now--;
    return response;
  };
  const { files } = await bundled("many.zip", { transport: { ...withLogs, send } });
  expect([...files.keys()].filter((path) => path.startsWith("logs/dev/many/"))).toHaveLength(30);
  expect(most).toBe(8);
  await world.person.delete(Pod, at("many"));
});

test.each([
  ["a CODER_URL that is not a URL", "no url", async () => new Response("{}")],
  ["a coderd that stops in the middle", "https://coder.example.com", async () => new Response(cut())],
])("%s is a line, and costs nothing else", async (_, url, fetch) => {
  const env = { CODER_URL: url, CODER_SESSION_TOKEN: secret("person") };
  const { about, files } = await bundled(`${url.length}.zip`, { env, fetch });
  expect(files.has("logs/dev/coder-1/coder.log")).toBe(true);
  expect(about.gaps.join("\n")).toMatch(/coderd can't be reached at CODER_URL: .+\./);
});

function cut(): ReadableStream {
  return new ReadableStream({ start: (controller) => controller.error(new Error("terminated")) });
}

async function bundled(name: string, person: Partial<Person>) {
  const file = join(dir, name);
  const whole = { transport: withLogs, clock: world.clock, namespace: "dev", ...person };
  const { code, out } = await kubectlCoder(whole, "bundle", "--file", file);
  expect(code).toBe(0);
  const files = await unzipped(file);
  return { out, files, about: JSON.parse(files.get("about.json") ?? "") as { gaps: string[] } };
}

test("coderd's health and queue are in it where the person may ask, without the person's token", async () => {
  const file = join(dir, "coderd.zip");
  const fetch = async (url: string | URL | Request) =>
    String(url).includes("debug/health")
      ? new Response(
          JSON.stringify({ healthy: true, seen: `${secret("person")} ${quotes}`, token: secret("unknown") }),
        )
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
