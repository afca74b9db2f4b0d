import type { Deployment } from "kube-controller-runtime";
import { describe, expect, test } from "vitest";
import { mountedFile } from "./database-target.ts";

const volumes = [
  { name: "tls", secret: { secretName: "db-tls" } },
  { name: "picked", secret: { secretName: "db-ca", items: [{ key: "root", path: "certs/root.pem" }] } },
  { name: "config", configMap: { name: "db-config" } },
  { name: "scratch", emptyDir: {} },
];
const volumeMounts = [
  { name: "tls", mountPath: "/tls" },
  { name: "tls", mountPath: "/tls/slashed/" },
  { name: "picked", mountPath: "/ca" },
  { name: "config", mountPath: "/etc/one.crt", subPath: "one" },
  { name: "config", mountPath: "/etc/part", subPath: "sub" },
  { name: "scratch", mountPath: "/scratch" },
  { name: "lost", mountPath: "/lost" },
];
const deployment = {
  spec: {
    selector: {},
    template: { spec: { volumes, containers: [{ name: "coder", volumeMounts }, { name: "other" }] } },
  },
} as Deployment;

describe("the object behind a path in the pod", () => {
  test.each([
    ["a key of a Secret", "/tls/tls.crt", { kind: "Secret", name: "db-tls", key: "tls.crt" }],
    [
      "a mount path that ends with a slash",
      "/tls/slashed/ca",
      { kind: "Secret", name: "db-tls", key: "slashed/ca" },
    ],
    ["a key that has another path", "/ca/certs/root.pem", { kind: "Secret", name: "db-ca", key: "root" }],
    ["a single mounted key", "/etc/one.crt", { kind: "ConfigMap", name: "db-config", key: "one" }],
    [
      "a mounted folder of a volume",
      "/etc/part/two",
      { kind: "ConfigMap", name: "db-config", key: "sub/two" },
    ],
  ])("is found for %s", (_, path, file) => {
    expect(mountedFile(deployment, path)).toEqual(file);
  });

  test.each([
    ["is not mounted", "/home/coder/ca.crt"],
    ["only begins like a mount", "/tlsx/tls.crt"],
    ["is a mount as a whole", "/tls"],
    ["lies in a volume that is neither Secret nor ConfigMap", "/scratch/ca.crt"],
    ["lies in a volume that there is not", "/lost/ca.crt"],
  ])("is nothing for a path that %s", (_, path) => {
    expect(mountedFile(deployment, path)).toBeUndefined();
  });

  test("is nothing in a Deployment without containers", () => {
    expect(mountedFile({}, "/tls/tls.crt")).toBeUndefined();
  });
});
