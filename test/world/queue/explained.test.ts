import { findCondition } from "kube-controller-runtime";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import { CoderControlPlane, type CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import { pages } from "../../docs/pages.ts";
import { ReplicaSets } from "./replica-sets.ts";
import { openQueueStage, type QueueStage } from "./stage.ts";

const MINUTE = 60_000;

const page = pages.find(({ path }) => path === "docs/tutorials/size-a-pool.md")?.text ?? "";
const [, chapter = ""] = page.split("## 4.");
const blocks = [...chapter.matchAll(/^```(\w*)\n(.*?)^```/gms)].map(([, language, text = ""]) => ({
  language,
  text,
}));
const manifests = blocks
  .filter(({ language }) => language === "yaml")
  .flatMap(({ text }) => parseAllDocuments(text));
/** What the page says that a person reads, line by line. */
const promised = blocks
  .filter(({ language }) => language === "text")
  .flatMap(({ text }) => text.trim().split("\n"));

let stage: QueueStage;
let coderd: CoderdDeployment;
let pods: ReplicaSets;
beforeEach(async () => {
  stage = await openQueueStage("explained");
  coderd = await stage.controlPlane();
  pods = new ReplicaSets(stage, coderd);
  pods.buildMs = 60 * MINUTE;
});
afterEach(async () => {
  await pods[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

const timeless = (text: string) => text.replaceAll(/\d{4}-\d\d-\d\dT[\d:]+Z/g, "<time>");
const within = <T>(ms: number, check: () => Promise<T>) => stage.eventually(check, { withinMs: ms });

function submit(count: number, tags: Record<string, string>): void {
  const organization = coderd.organizations[0]?.id ?? "";
  for (let index = 0; index < count; index++) coderd.jobs.submit({ organization, tags });
}

async function scalings(pool: string): Promise<string[]> {
  const events = (await stage.events(pool)).filter(({ reason }) => reason === "Scaled");
  return events.map(({ message }) => `${pool.padEnd(7)}  Scaled  ${message}`);
}

const served = async () =>
  findCondition((await stage.get(CoderControlPlane, "coder")).status?.conditions, "BuildsServed");

test("the tutorial shows the messages about overlapping pools, one at its maximum, and tags that no pool has", async () => {
  for (const manifest of manifests) {
    const { metadata, spec } = manifest.toJS() as CoderProvisioner;
    await stage.create(metadata?.name ?? "", { ...spec, replicas: 0 });
    await stage.untilCondition(metadata?.name ?? "", "ScalingActive", { status: "True" });
  }
  submit(4, { region: "eu" });
  const grown = await within(2 * MINUTE, async () => {
    const all = [...(await scalings("general")), ...(await scalings("spare"))];
    expect(all).toHaveLength(2);
    return all;
  });
  await within(2 * MINUTE, async () =>
    expect(coderd.jobs.of(coderd.organizations[0]?.id ?? "").every(({ startedAt }) => startedAt)).toBe(true),
  );
  submit(4, { region: "eu" });
  const full = await within(5 * MINUTE, async () => {
    const condition = await served();
    expect(condition).toMatchObject({ status: "False", reason: "AtMaximum" });
    return condition?.message ?? "";
  });
  const limited = findCondition((await stage.status("general")).conditions, "ScalingLimited")?.message ?? "";
  submit(1, { region: "us" });
  const unmatched = await within(MINUTE, async () => {
    const message = (await served())?.message ?? "";
    expect(message).toContain("region=us");
    return message.slice(full.length + 1);
  });
  expect([...grown, full, limited, unmatched].map(timeless)).toEqual(promised.map(timeless));
});
