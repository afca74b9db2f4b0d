import { readdirSync, readFileSync } from "node:fs";
import { apiRequest } from "kube-controller-runtime/testing";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { sharedCluster } from "../support/cluster/shared.ts";
import { accepted } from "./api-admission/accepted.ts";
import { type Manifest, plurals } from "./api-admission/manifests.ts";
import { refused } from "./api-admission/refused.ts";

const cluster = sharedCluster();
const endpoint = { server: cluster.server, caFile: cluster.caFile, token: cluster.admin.token };
let namespace: string;
let count = 0;

beforeAll(async () => {
  namespace = await cluster.createNamespace("admission");
});

function collection(kind: Manifest["kind"]): string {
  return `/apis/coder.com/v1alpha1/namespaces/${namespace}/${plurals[kind]}`;
}

/** Sends the object as `kubectl --validate=strict` does: fields that the schema lacks are errors. */
async function create({ kind, spec, name = `case-${++count}` }: Manifest) {
  const body = { apiVersion: "coder.com/v1alpha1", kind, metadata: { name }, ...(spec ? { spec } : {}) };
  const path = `${collection(kind)}?fieldValidation=Strict`;
  const { status, text } = await apiRequest(endpoint, { method: "POST", path, body });
  return { status, answer: JSON.parse(text), name };
}

async function specOf(kind: Manifest["kind"], name: string): Promise<unknown> {
  const { text } = await apiRequest(endpoint, { method: "GET", path: `${collection(kind)}/${name}` });
  return JSON.parse(text).spec;
}

describe("the API server refuses", () => {
  it("enough bad manifests for a table", () => {
    expect(refused.length).toBeGreaterThanOrEqual(40);
  });

  it.each(refused)("$kind with a bad $field: $spec", async (manifest) => {
    const { status, answer } = await create(manifest);
    expect(status).toBeOneOf([400, 422]);
    expect(fieldsIn(answer.message)).toContain(manifest.field);
    if (manifest.says) expect(answer.message).toContain(manifest.says);
  });
});

/** Whole paths: a message about `spec.expose.host` does not name `spec.expose`. */
function fieldsIn(message: string): string[] {
  return message.match(/\b(spec|metadata)(\.[\w-]+|\[\d+\])*/g) ?? [];
}

describe("the API server accepts", () => {
  it("enough good manifests for a table", () => {
    expect(accepted.length).toBeGreaterThanOrEqual(20);
  });

  it.each(accepted)("$kind with $title, and shows the defaults on reading back", async (manifest) => {
    const { status, answer, name } = await create(manifest);
    expect(answer.message).toBeUndefined();
    expect(status).toBe(201);
    expect(await specOf(manifest.kind, name)).toEqual(manifest.stored);
  });
});

const samplesFolder = new URL("../../config/samples/", import.meta.url);
const samples = readdirSync(samplesFolder).map((file) => ({
  file,
  content: readFileSync(new URL(file, samplesFolder), "utf8"),
}));

describe("every sample", () => {
  it.each(samples)("$file is taken by kubectl --validate=strict", async ({ content }) => {
    const args = ["create", "--validate=strict", "-n", namespace, "-f", "-"];
    const { stderr, code } = await cluster.kubectl(args, content);
    expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
  });

  it("shows all kinds, each small and full", () => {
    const shown = samples.map(({ content }) => parse(content).kind);
    for (const kind of Object.keys(plurals)) {
      expect(shown.filter((other) => other === kind).length).toBeGreaterThanOrEqual(2);
    }
  });

  it("contains no Secret", () => {
    for (const { content } of samples) expect(parse(content).kind).not.toBe("Secret");
  });
});

describe("while the number of a provisioner follows the queue", () => {
  const follows = { controlPlaneRef: { name: "coder" }, replicas: 2, autoscaling: { maxReplicas: 5 } };
  const refusal = "cannot be changed while autoscaling is set";

  async function change(name: string, spec: object): Promise<string> {
    const patch = JSON.stringify({ spec });
    const args = ["patch", "coderprovisioner", name, "-n", namespace, "--type=merge", "-p", patch];
    return (await cluster.kubectl(args)).stderr;
  }

  it("no client can set it, neither in the spec nor by the scale subresource", async () => {
    const { name } = await create({ kind: "CoderProvisioner", spec: follows });
    expect(await change(name, { replicas: 3 })).toContain(refusal);
    const scale = ["scale", "coderprovisioner", name, "-n", namespace, "--replicas=3"];
    expect((await cluster.kubectl(scale)).stderr).toContain(refusal);
  });

  it("everything else can change, and the number with the rule itself", async () => {
    const { name } = await create({ kind: "CoderProvisioner", spec: follows });
    expect(await change(name, { autoscaling: { maxReplicas: 7 } })).toBe("");
    expect(await change(name, { autoscaling: null, replicas: 3 })).toBe("");
    expect(await change(name, { replicas: 4 })).toBe("");
    expect(await change(name, { replicas: 1, autoscaling: { maxReplicas: 2 } })).toBe("");
  });
});

it("says where a misspelled field is, even deep in a Kubernetes type", async () => {
  const manifest = JSON.stringify({
    apiVersion: "coder.com/v1alpha1",
    kind: "CoderProvisioner",
    metadata: { name: "typo" },
    spec: {
      controlPlaneRef: { name: "coder" },
      affinity: { nodeAffinity: { preferredDuringScheduling: [] } },
    },
  });
  const { stderr } = await cluster.kubectl(
    ["apply", "--validate=strict", "-n", namespace, "-f", "-"],
    manifest,
  );
  expect(stderr).toContain('unknown field "spec.affinity.nodeAffinity.preferredDuringScheduling"');
});
