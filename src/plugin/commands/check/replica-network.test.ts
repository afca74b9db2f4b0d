import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { closedPorts } from "./replica-network.ts";

const labels = {
  "app.kubernetes.io/name": "coder-control-plane",
  "app.kubernetes.io/instance": "coder",
  "app.kubernetes.io/managed-by": "coder-k8s",
};
const pods = { labels, namespaceLabels: { "kubernetes.io/metadata.name": "dev", team: "a" } };
const fromNamespace = (namespaceSelector: object, podSelector?: object) =>
  policy([{ from: [{ namespaceSelector, ...(podSelector && { podSelector }) }] }]);
const policy = (ingress: object[], podSelector: object = {}) => ({
  spec: { podSelector, policyTypes: ["Ingress"], ingress },
});

test.each([
  ["without a policy", [], []],
  ["with a policy for other pods", [policy([], { matchLabels: { app: "db" } })], []],
  ["with a policy for egress alone", [{ spec: { podSelector: {}, policyTypes: ["Egress"] } }], []],
  ["when everything is denied", [policy([])], [8080, 6222]],
  ["when only one port is open", [policy([{ ports: [{ port: 8080 }] }])], [6222]],
  ["when a port is open by its name", [policy([{ ports: [{ port: "http" }] }])], [6222]],
  ["when a range is open", [policy([{ ports: [{ port: 6000, endPort: 9000 }] }])], []],
  ["when both ports are open by name", [policy([{ ports: [{ port: "http" }, { port: "cluster" }] }])], []],
  ["when any namespace is let in", [fromNamespace({})], []],
  ["when their own namespace is let in", [fromNamespace({ matchLabels: { team: "a" } })], []],
  ["when only another namespace is let in", [fromNamespace({ matchLabels: { team: "b" } })], [8080, 6222]],
  [
    "when others of their namespace are let in",
    [fromNamespace({ matchLabels: { team: "a" } }, { matchLabels: { app: "x" } })],
    [8080, 6222],
  ],
  [
    "when only others are let in",
    [policy([{ from: [{ podSelector: { matchLabels: { app: "x" } } }] }])],
    [8080, 6222],
  ],
  [
    "when a second policy lets them in",
    [policy([]), policy([{ from: [{ podSelector: { matchLabels: labels } }] }])],
    [],
  ],
])("ports between replicas %s", (_case, policies, closed) => {
  expect(closedPorts(pods, policies)).toEqual(closed);
});

test("the example leaves replicas connected", () => {
  expect(closedPorts(pods, [parse(readFileSync("examples/network-policy.yaml", "utf8"))])).toEqual([]);
});

test("a namespace with unknown labels counts as admitted", () => {
  expect(closedPorts({ labels }, [fromNamespace({ matchLabels: { team: "b" } })])).toEqual([]);
});
