import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Pod, Stored } from "kube-controller-runtime";
import { stubClient } from "kube-controller-runtime/testing";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { coderProcess } from "./coder-process.ts";
import { planContainer, type RunningContainer } from "./launch.ts";
import { LocalServices } from "./local-services.ts";
import type { Container } from "./pod.ts";

// Replaces `coder`: records how it was started, then serves its health until it is stopped.
const PROGRAM = `#!${process.execPath}
const { existsSync, readFileSync, writeFileSync } = require("node:fs");
const listen = process.argv.find((argument) => argument.startsWith("--http-address="));
const [host, port] = (listen ?? "").split("=").pop().split(":");
writeFileSync(process.env.REPORT, JSON.stringify({
  argv: process.argv.slice(2),
  env: process.env,
  mounted: process.env.CODER_TLS_CERT_FILE && readFileSync(process.env.CODER_TLS_CERT_FILE, "utf8"),
}));
if (process.argv[2] === "version") console.log("Coder v2.36.1");
if (process.env.FAIL) process.exit(1);
process.on("SIGTERM", () => process.env.STUBBORN || process.exit(0));
if (listen) require("node:http").createServer((_, response) => {
  response.writeHead(existsSync(process.env.REPORT + ".sick") ? 503 : 200).end();
}).listen(Number(port), host);
setInterval(() => {}, 1_000);
`;

let dir: string;
const running: RunningContainer[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "coder-k8s-process-test-"));
  await writeFile(join(dir, "coder"), PROGRAM, { mode: 0o755 });
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((container) => container.stop(0)));
  await rm(dir, { recursive: true, force: true });
});

interface Report {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly mounted?: string;
}

const podIP = "127.0.0.1";
const port = 20_000 + Math.floor(Math.random() * 10_000);
const serves: Partial<Container> = {
  args: ["--http-address=0.0.0.0:$(PORT)"],
  ports: [{ name: "http", containerPort: port }],
  readinessProbe: { httpGet: { path: "/healthz", port: "http" } },
};

async function start(container: Partial<Container>, env: Record<string, string> = {}) {
  const variables = { REPORT: join(dir, "report"), PORT: String(port), ...env };
  const pod: Stored<Pod> = {
    metadata: { namespace: "dev", name: "coder-1", uid: "1", resourceVersion: "1" },
    spec: {
      containers: [
        {
          name: "coder",
          ...container,
          env: Object.entries(variables).map(([name, value]) => ({ name, value })),
        },
      ],
      volumes: [{ name: "tls", secret: { secretName: "tls" } }],
    },
  };
  const services = new LocalServices(stubClient({}));
  const plan = await planContainer(pod, podIP, async () => ({ "tls.crt": "a certificate" }));
  const started = await coderProcess({ binary: join(dir, "coder"), services, path: ["/opt/tools"] })(plan);
  running.push(started);
  return started;
}

const report = () =>
  vi.waitFor(async () => JSON.parse(await readFile(join(dir, "report"), "utf8")) as Report, 10_000);

test("a process has the pod's arguments and variables, translated to this machine, and no others", async () => {
  await start(
    { ...serves, volumeMounts: [{ name: "tls", mountPath: "/etc/ssl/certs/coder/tls" }] },
    { CODER_TLS_CERT_FILE: "/etc/ssl/certs/coder/tls/tls.crt" },
  );
  const { argv, env, mounted } = await report();
  expect(argv).toEqual(["server", `--http-address=${podIP}:${port}`]);
  expect(mounted).toBe("a certificate");
  expect(Object.keys(env)).toEqual(
    expect.arrayContaining(["CODER_TLS_CERT_FILE", "HOME", "PATH", "PORT", "REPORT"]),
  );
  expect(Object.keys(env)).not.toContain("VITEST");
  expect(env.PATH).toBe(`/opt/tools:${process.env.PATH}`);
});

test("a command takes the place of the image's entrypoint", async () => {
  await start({ command: ["/opt/coder"], args: ["provisionerd", "start"] });
  expect((await report()).argv).toEqual(["provisionerd", "start"]);
});

test("a shell runs the program of the image, and what it leaves for the pod's status is kept", async () => {
  const script = 'exec "$0" "$@" >/dev/termination-log';
  const container = await start(
    { command: ["/bin/sh", "-c", script, "/opt/coder", "version"] },
    { FAIL: "yes" },
  );
  expect((await report()).argv).toEqual(["version"]);
  await container.ended;
  expect(container.exitCode?.()).toBe(1);
  expect(container.terminationLog?.()).toBe("Coder v2.36.1\n");
});

test("a process is ready once its probe is answered", async () => {
  const container = await start(serves);
  await vi.waitFor(async () => expect(await container.isReady()).toBe(true), 10_000);
});

test("a ready process stays ready until three probes in a row fail, as a kubelet has it", async () => {
  const container = await start(serves);
  await vi.waitFor(async () => expect(await container.isReady()).toBe(true), 10_000);
  const inARow = async () => [
    await container.isReady(),
    await container.isReady(),
    await container.isReady(),
  ];
  await writeFile(join(dir, "report.sick"), "");
  expect(await inARow()).toEqual([true, true, false]);
  await rm(join(dir, "report.sick"));
  expect(await container.isReady()).toBe(true);
});

test("without a probe a process is ready while it runs", async () => {
  const container = await start({});
  expect(await container.isReady()).toBe(true);
  await container.stop(5_000);
  expect(await container.isReady()).toBe(false);
});

test("a process that ends by itself is reported and leaves no files", async () => {
  const container = await start({}, { FAIL: "yes" });
  const { env } = await report();
  await container.ended;
  expect(existsSync(env.HOME ?? "")).toBe(false);
});

test("a process that takes longer than its grace is ended all the same", async () => {
  const container = await start({}, { STUBBORN: "yes" });
  await report();
  await container.stop(50);
  expect(await container.isReady()).toBe(false);
});
