import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { Secrets } from "../../support/leaks.ts";
import { type Fleet, initialFleet, secretOf, type Wish, workloadsOf } from "../fleet.ts";
import { memoryIsBack, noCrashes, noLeaks, noWrites } from "./conduct.ts";
import type { Evidence, SeenCoderd, SeenObject } from "./evidence.ts";
import { brokenInvariants } from "./state.ts";

const LICENSES = { first: "license-one", second: "license-two" };
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** The content of an object's Secret in a healthy state. */
const heldBy = {
  CoderControlPlane: "tokenid-tokensecret",
  CoderProvisioner: "plaintext-of-the-key",
  CoderWorkspaceProxy: "proxy:token",
} as const;
const GROUP_ID = "id of group-0";

function wellObject(wish: Wish): SeenObject {
  const conditions = ["Ready", "OperatorAccessReady", "LicenseApplied", "EntitlementsKnown"].map((type) => ({
    type,
    status: "True" as const,
    reason: "Fine",
    message: "fine",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  }));
  return {
    uid: `uid of ${wish.name}`,
    generation: 3,
    status: {
      observedGeneration: 3,
      readyReplicas: 1,
      conditions,
      ...(wish.kind === "CoderGroup" ? { id: GROUP_ID } : {}),
      provisionerKeyName: wish.name,
      licenseLastAppliedHash: sha256(LICENSES.first),
    },
  };
}

function wellCoderd(fleet: Fleet): SeenCoderd {
  const provisioner = fleet.get("pool-0");
  const proxy = fleet.get("proxy-0");
  return {
    keys:
      provisioner?.kind === "CoderProvisioner"
        ? [
            {
              name: "pool-0",
              organization: "default",
              tags: provisioner.tags,
              plaintext: heldBy[provisioner.kind],
            },
          ]
        : [],
    proxies:
      proxy?.kind === "CoderWorkspaceProxy"
        ? [{ name: proxy.proxyName, displayName: proxy.displayName, token: heldBy[proxy.kind] }]
        : [],
    groups: [{ id: GROUP_ID, name: "group-0", organization: "default", quota: 1 }],
    licenses: [LICENSES.first],
    tokens: [{ id: "tokenid", hash: sha256("tokensecret") }],
  };
}

function allIsWell(): Evidence {
  const fleet = initialFleet(1);
  const wishes = [...fleet.values()];
  const objects = new Map(wishes.map((wish) => [wish.name, wellObject(wish)]));
  return {
    fleet,
    licenses: LICENSES,
    objects,
    children: workloadsOf(fleet).map((wish) => ({
      kind: "Secret",
      name: secretOf(wish),
      ownerUid: `uid of ${wish.name}`,
    })),
    secrets: new Map(workloadsOf(fleet).map((wish) => [secretOf(wish), heldBy[wish.kind]])),
    coderds: new Map([["coder-0", wellCoderd(fleet)]]),
    reported: new Map(),
  };
}

function withObject(name: string, changes: Partial<SeenObject["status"]>): Partial<Evidence> {
  const { objects } = allIsWell();
  const object = objects.get(name) as SeenObject;
  return { objects: new Map([...objects, [name, { ...object, status: { ...object.status, ...changes } }]]) };
}

function withCoderd(change: (coderd: SeenCoderd) => Partial<SeenCoderd>): Partial<Evidence> {
  const coderd = wellCoderd(initialFleet(1));
  return { coderds: new Map([["coder-0", { ...coderd, ...change(coderd) }]]) };
}

const stray = { name: "stray", organization: "default", tags: {}, plaintext: "other" };
const strayGroup = { id: "id of a stray", name: "stray", organization: "default", quota: 1 };
const strayProxy = { name: "stray", displayName: "", token: "other" };

describe("the state of the world", () => {
  test("holds without a fault", () => {
    expect(brokenInvariants(allIsWell())).toEqual([]);
  });

  test.each<[string, Partial<Evidence>, string]>([
    [
      "an object that is not there",
      { objects: new Map([...allIsWell().objects].slice(1)) },
      "coder-0 does not exist",
    ],
    ["an object that was not reconciled", withObject("pool-0", { observedGeneration: 2 }), "in generation 2"],
    ["a condition that is False", withObject("pool-0", { conditions: [] }), "pool-0 is not Ready"],
    ["too few pods", withObject("proxy-0", { readyReplicas: 0 }), "0 ready replicas instead of 1"],
    ["a key that is still to be made", withObject("pool-0", { pendingKey: { name: "k" } }), 'the key "k"'],
    [
      "a key that was not retired",
      withObject("pool-0", { retiredKeys: [{ name: "old" }] }),
      'its old key "old"',
    ],
    [
      "a status that reports another license",
      withObject("coder-0", { licenseLastAppliedHash: "x" }),
      "another license",
    ],
    ["a coderd without the license", withCoderd(() => ({ licenses: [] })), "without the first license"],
    ["a Secret without a key", { secrets: new Map() }, "pool-0-provisioner-key holds no key"],
    ["a key that coderd does not accept", withCoderd(() => ({ keys: [] })), "does not accept the key"],
    [
      "a status that names another key",
      withObject("pool-0", { provisionerKeyName: "other" }),
      'its status says "other"',
    ],
    [
      "a key with other tags",
      withCoderd(({ keys }) => ({ keys: keys.map((key) => ({ ...key, tags: {} })) })),
      "its key has the tags {}",
    ],
    [
      "a key of another organization",
      withCoderd(({ keys }) => ({ keys: keys.map((key) => ({ ...key, organization: "team" })) })),
      "of organization team instead of default",
    ],
    ["two tokens", withCoderd(({ tokens }) => ({ tokens: [...tokens, { id: "b", hash: "" }] })), "2 tokens"],
    [
      "a token that is not in the database",
      withCoderd(() => ({ tokens: [{ id: "b", hash: "" }] })),
      "not in its database",
    ],
    ["a proxy that is not registered", withCoderd(() => ({ proxies: [] })), 'has no proxy "proxy-0"'],
    [
      "a proxy with another token",
      withCoderd(({ proxies }) => ({ proxies: proxies.map((proxy) => ({ ...proxy, token: "x" })) })),
      "does not hold the proxy's token",
    ],
    [
      "a proxy that is shown by another name",
      withCoderd(({ proxies }) => ({ proxies: proxies.map((proxy) => ({ ...proxy, displayName: "x" })) })),
      'shows it as "x"',
    ],
    ["a group that does not exist", withCoderd(() => ({ groups: [] })), 'has no group "group-0"'],
    [
      "a group with another quota",
      withCoderd(({ groups }) => ({ groups: groups.map((group) => ({ ...group, quota: 9 })) })),
      "its quota is 9 instead of 1",
    ],
    ["a status with another ID", withObject("group-0", { id: "other" }), "its status has another ID"],
    [
      "an orphan group",
      withCoderd(({ groups }) => ({ groups: [...groups, { ...strayGroup }] })),
      "has group id of a stray",
    ],
    ["an orphan key", withCoderd(({ keys }) => ({ keys: [...keys, stray] })), "has key stray"],
    [
      "an orphan proxy",
      withCoderd(({ proxies }) => ({ proxies: [...proxies, strayProxy] })),
      "has proxy stray",
    ],
    [
      "a child that outlived its owner",
      { children: [{ kind: "Role", name: "r", ownerUid: "uid of an object before" }] },
      "Role r has outlived its owner",
    ],
    [
      "an unneeded Secret",
      { children: [{ kind: "Secret", name: "old-key", ownerUid: "uid of pool-0" }] },
      "Secret old-key is not needed",
    ],
  ])("does not hold with %s", (_, planted, words) => {
    const broken = brokenInvariants({ ...allIsWell(), ...planted });
    expect(
      broken.some((violation) => violation.includes(words)),
      broken.join("\n"),
    ).toBe(true);
  });

  test("holds with orphans that the operator has reported, and with no others", () => {
    const reported = new Map([
      ["key stray", "coderd was away"],
      ["proxy stray", "coderd was away"],
    ]);
    const planted = withCoderd(({ keys, proxies }) => ({
      keys: [...keys, stray],
      proxies: [...proxies, strayProxy],
    }));
    expect(brokenInvariants({ ...allIsWell(), ...planted, reported })).toEqual([]);
    const other = withCoderd(({ keys }) => ({ keys: [...keys, { ...stray, name: "another" }] }));
    expect(brokenInvariants({ ...allIsWell(), ...other, reported })).toHaveLength(1);
  });
});

describe("the conduct of the operator", () => {
  test("must not show a secret anywhere", () => {
    const secrets = new Secrets();
    secrets.add("marked-secret-value");
    expect(noLeaks([{ where: "a log", text: "all is well" }], secrets)).toEqual([]);
    expect(noLeaks([{ where: "a log", text: "token marked-secret-value" }], secrets)).toEqual([
      "a log shows the secret mark… (19 characters)",
    ]);
  });

  test.each([
    ["Node.js's report of an unhandled rejection", "node:internal/process/promises:394\nError: boom"],
    ["a warning of Node", "(node:1) MaxListenersExceededWarning: Possible EventTarget memory leak detected."],
    ["what its logger did not write", "coder-k8s: boom"],
    [
      "an end that has nothing to do with the lease",
      '{"level":"error","error":{"type":"ApiError"},"msg":"operator failed"}',
    ],
    [
      "a run that failed for a bug",
      '{"level":"error","error":{"type":"TypeError","stack":["at f"]},"msg":"run failed"}',
    ],
  ])("must not include %s", (_, output) => {
    expect(noCrashes([`{"level":"info","msg":"starting operator"}\n${output}\n`])).toHaveLength(1);
  });

  test("may include the end of a process that lost its lease, and runs that failed for the outside world", () => {
    const lines = [
      '{"level":"error","error":{"type":"ApiError"}}',
      '{"level":"error","error":{"type":"NotLeaderError"},"msg":"operator failed"}',
      "",
    ];
    expect(noCrashes([lines.join("\n")])).toEqual([]);
  });

  const status = "/apis/coder.com/v1alpha1/namespaces/n/codercontrolplanes/coder-0/status?fieldManager=x";
  const request = (method: string, path: string) => ({ method, path });

  test("may write the lease and one refresh of each control plane when nothing happens", () => {
    const lease = "/apis/coordination.k8s.io/v1/namespaces/n/leases/l";
    expect(noWrites([request("GET", "/x"), request("PUT", lease), request("PATCH", status)])).toEqual([]);
  });

  test.each([
    ["a second refresh", [request("PATCH", status), request("PATCH", status)]],
    ["an event", [request("POST", "/api/v1/namespaces/n/events")]],
    ["a child", [request("PATCH", "/apis/apps/v1/namespaces/n/deployments/d?force=true")]],
  ])("must not write %s when nothing happens", (_, requests) => {
    expect(noWrites(requests)).toHaveLength(1);
  });

  test("must give back the memory that the faults took", () => {
    const before = { heapMB: 20, residentMB: 90 };
    expect(memoryIsBack(before, { heapMB: 22, residentMB: 110 })).toEqual([]);
    expect(memoryIsBack(before, { heapMB: 40, residentMB: 110 })).toHaveLength(1);
    expect(memoryIsBack(before, { heapMB: 22, residentMB: 200 })).toHaveLength(1);
    expect(memoryIsBack(before, { heapMB: Number.NaN, residentMB: 90 })).toHaveLength(1);
  });
});
