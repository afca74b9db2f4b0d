import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

export const base64 = (text: string) => Buffer.from(text).toString("base64");

/** A kubeconfig with one cluster, one user and one context; JSON is YAML. */
export function kubeconfigText(user: object, cluster: object = {}): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { server: "https://api.example.com:6443", ...cluster } }],
    users: [{ name: "u", user }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  });
}

/** A separate folder, removed after the test. */
export function kubeconfigFolder() {
  const dir = mkdtempSync(join(tmpdir(), "runtime-credentials-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const write = (name: string, content: string) => {
    const path = join(dir, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return path;
  };
  const kubeconfig = (user: object, cluster: object = {}) =>
    write("kubeconfig", kubeconfigText(user, cluster));
  return { dir, write, kubeconfig };
}

/** A user whose credentials come from a shell script. */
export function execUser(script: string, exec: object = {}) {
  return {
    exec: {
      apiVersion: "client.authentication.k8s.io/v1",
      interactiveMode: "Never",
      command: "/bin/sh",
      args: ["-c", script],
      ...exec,
    },
  };
}

/** The output of a plugin. */
export function execAnswer(status: object, apiVersion = "client.authentication.k8s.io/v1"): string {
  return JSON.stringify({ kind: "ExecCredential", apiVersion, status });
}
