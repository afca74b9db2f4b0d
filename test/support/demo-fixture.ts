import { execFile, type PromiseWithChild } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createCertificateAuthority, eventually } from "kube-controller-runtime/testing";
import { expect } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import * as kinds from "../../src/api/v1alpha1/kinds.ts";
import { coderCharts } from "../../tools/coder/charts.ts";
import { OLDER } from "../../tools/coder/pins.ts";
import { helmFor, succeeded } from "./helm.ts";

const TROUBLE = fileURLToPath(new URL("../../demo/manifests/trouble.yaml", import.meta.url));
const CRDS = Object.values(kinds).map(({ plural }) => `${plural}.coder.com`);
const DAY_MS = 86_400_000;

/** A running demo, used as its guide describes. */
export interface DemoAccess {
  readonly kubeconfig: string;
  readonly kubectl: string;
  /** Where the simulated coderd answers. */
  readonly coderdUrl: string;
}

/** kubectl as the guide of the demo sets it up. */
export async function demoKubectl(
  { kubeconfig, kubectl }: DemoAccess,
  args: readonly string[],
  stdin = "",
): Promise<string> {
  const running = promisify(execFile)(kubectl, args, { env: { KUBECONFIG: kubeconfig, KUBERC: "off" } });
  (running as PromiseWithChild<unknown>).child.stdin?.end(stdin);
  return (await running).stdout;
}

const applied = (demo: DemoAccess, ...items: readonly object[]) =>
  demoKubectl(demo, ["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }));

/**
 * Brings into the demo what there is to say something about: what its guide offers as trouble, a build that no pool can
 * take, a certificate, the operator's own Deployment, and a Helm release of Coder. Returns once the operator has
 * reported all of it.
 */
export async function setUpTrouble(demo: DemoAccess): Promise<void> {
  const metadata = { name: "sydney-tls", namespace: "demo" };
  await applied(demo, { apiVersion: "v1", kind: "Secret", metadata, stringData: certificate() }, operator());
  const tls = { secretName: metadata.name };
  const expose = { ingress: { host: "sydney.example.com", tls } };
  await Promise.all([
    demoKubectl(demo, ["patch", "cwp", "sydney", "--type=merge", "-p", JSON.stringify({ spec: { expose } })]),
    demoKubectl(demo, ["apply", "-f", TROUBLE]),
    demoKubectl(demo, ["label", "crd", ...CRDS, `app.kubernetes.io/version=${manifest.version}`]),
    submitBuild(demo),
    installRelease(demo),
  ]);
  await Promise.all([
    reported(demo, "codercontrolplane/coder", '"burst", lacks region=us'),
    reported(demo, "coderprovisioner/gpu", "Secret .*cuda.* does not exist"),
    reported(demo, "coderprovisioner/burst", "pendingBuilds: 0"),
    reported(demo, "coderworkspaceproxy/sydney", "health: ok"),
    reported(demo, "deployment/coder-k8s", "availableReplicas: 2", "coder-system"),
    reported(demo, "deployment/coder", "availableReplicas: 1", "legacy"),
  ]);
}

function reported(demo: DemoAccess, object: string, text: string, namespace = "demo"): Promise<void> {
  const get = ["get", object, "--namespace", namespace, "--output", "yaml"];
  return eventually(async () => expect(await demoKubectl(demo, get)).toMatch(new RegExp(text)), {
    withinMs: 60_000,
  });
}

function certificate(): Record<string, string> {
  const now = Date.now();
  const validity = { from: new Date(now - DAY_MS), to: new Date(now + 61.5 * DAY_MS) };
  const { cert, key } = createCertificateAuthority().issue(["sydney.example.com"], validity);
  return { "tls.crt": cert, "tls.key": key };
}

/** As the chart makes it; the demo runs the operator itself outside of the cluster. */
function operator(): object {
  const name = { "app.kubernetes.io/name": "coder-k8s" };
  const labels = { ...name, "app.kubernetes.io/version": manifest.version };
  const image = `example.com/coder-k8s:${manifest.version}`;
  const containers = [{ name: "operator", image, args: ["controller"] }];
  const template = { metadata: { labels: name }, spec: { serviceAccountName: "coder-k8s", containers } };
  return {
    ...{ apiVersion: "apps/v1", kind: "Deployment" },
    metadata: { name: "coder-k8s", namespace: "coder-system", labels },
    spec: { replicas: 2, selector: { matchLabels: name }, template },
  };
}

/** The operator's own token may do that too, as any template admin's. */
async function submitBuild(demo: DemoAccess): Promise<void> {
  const get = ["get", "secret", "coder-operator-token", "--output", "jsonpath={.data.token}"];
  const token = Buffer.from(await demoKubectl(demo, get), "base64").toString();
  const path = "/api/v2/organizations/default/templateversions";
  const { status } = await fetch(new URL(path, demo.coderdUrl), {
    method: "POST",
    headers: { "Coder-Session-Token": token },
    body: JSON.stringify({ tags: { os: "linux", region: "us" } }),
  });
  expect(status).toBe(201);
}

async function installRelease(demo: DemoAccess): Promise<void> {
  const charts = await coderCharts(OLDER);
  await using helm = await helmFor({ admin: demo });
  try {
    const chart = join(charts, "coder");
    succeeded(await helm.run(["dependency", "build", chart]));
    const env = [
      { name: "CODER_ACCESS_URL", value: "https://coder.example.com" },
      { name: "CODER_PG_CONNECTION_URL", valueFrom: { secretKeyRef: { name: "coder-db", key: "url" } } },
    ];
    const ingress = { enable: true, host: "coder.example.com" };
    const values = { coder: { image: { tag: "v2.26.0" }, env, ingress } };
    const flags = ["--create-namespace"];
    const release = { name: "coder", namespace: "legacy", chart, values };
    succeeded(await helm.release("install", release, ...flags));
    const stringData = { url: "postgres://coder@db/coder" };
    const metadata = { name: "coder-db", namespace: "legacy" };
    await applied(demo, { apiVersion: "v1", kind: "Secret", metadata, stringData });
  } finally {
    await rm(charts, { recursive: true, force: true });
  }
}
