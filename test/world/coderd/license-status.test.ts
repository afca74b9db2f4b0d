import { createHash } from "node:crypto";
import type { TransportRequest } from "kube-controller-runtime";
import { type Fault, times, when } from "kube-controller-runtime/testing";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { fakeLicense } from "../../../lab/coderd/licenses.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { type Coderd, type CoderdStage, openCoderdStage } from "./stage.ts";

let stage: CoderdStage;
beforeAll(async () => {
  stage = await openCoderdStage();
});
afterEach(() => {
  stage.operator.transport.fault = undefined;
});
afterAll(() => stage?.[Symbol.asyncDispose]());

// As old as the world.
const license = fakeLicense({ now: Date.UTC(2026, 0, 1) });
const hash = createHash("sha256").update(license).digest("hex");

const isStatusWrite = ({ path }: TransportRequest) => path.includes("/status");
const recordsLicense = (request: TransportRequest) =>
  isStatusWrite(request) && (request.body ?? "").includes("licenseLastAppliedHash");

/** Another client writes just before the operator's write reaches the server. */
function meddling(meddle: () => Promise<unknown>): Fault {
  return async (_request, pass) => {
    await meddle();
    return pass();
  };
}

async function serve(name: string): Promise<Coderd> {
  const coderd = await stage.coderd(name);
  await stage.putSecret(`${name}-license`, { license });
  await stage.serve(name, coderd, { licenseSecretRef: { name: `${name}-license` } });
  return coderd;
}

/** What the API server answered to the operator's writes of the status. */
function statusCodes(name: string): number[] {
  const writes = stage.writes().filter((write) => write.name === name && write.subresource === "status");
  return writes.map(({ code }) => code);
}

test.each([
  { conflicts: 3, what: "within the run" },
  { conflicts: 7, what: "by further runs, when there are more than one run bears" },
])(
  "the record of an upload arrives after $conflicts conflicts, $what, and coderd has one license",
  async ({ conflicts }) => {
    const name = `busy-${conflicts}`;
    let count = 0;
    const annotate = () => {
      const metadata = { annotations: { touched: String(count++) } };
      return stage.person.mergePatch(CoderControlPlane, stage.ref(name), { metadata });
    };
    stage.operator.transport.fault = when(recordsLicense, times(conflicts, meddling(annotate)));
    const { deployment } = await serve(name);
    await stage.untilStatus(name, { licenseLastAppliedHash: hash, licenseTier: "premium" });
    expect(count).toBe(conflicts);
    expect(statusCodes(name).filter((code) => code === 409)).toHaveLength(conflicts);
    expect(deployment.licenses).toHaveLength(1);
  },
);

test("a concurrent status write of another client is preserved", async () => {
  const foreign = {
    type: "Foreign",
    status: "True",
    reason: "Elsewhere",
    message: "of another controller",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
  const addCondition = async () => {
    const { status } = await stage.controlPlane("shared");
    const conditions = [...(status?.conditions ?? []), foreign];
    await stage.person.patchStatus(CoderControlPlane, stage.ref("shared"), { status: { conditions } });
  };
  stage.operator.transport.fault = when(recordsLicense, times(1, meddling(addCondition)));
  await serve("shared");
  const { conditions } = await stage.untilStatus("shared", { licenseLastAppliedHash: hash });
  expect(conditions).toContainEqual(foreign);
  expect(conditions).toContainEqual(expect.objectContaining({ type: "LicenseApplied", status: "True" }));
});

test("a run that a newer spec has overtaken writes nothing; the next one records the license", async () => {
  const sent: TransportRequest[] = [];
  const change = meddling(() => stage.change("overtaken", { replicas: 2 }));
  const changeOnce = times(1, change);
  stage.operator.transport.fault = when(recordsLicense, (request, pass) => {
    sent.push(request);
    return changeOnce(request, pass);
  });
  const { deployment } = await serve("overtaken");
  const { observedGeneration } = await stage.untilStatus("overtaken", { licenseLastAppliedHash: hash });
  expect(observedGeneration).toBe(2);
  const generations = sent.map(
    ({ body }) => JSON.parse(body ?? "{}").status.conditions[0].observedGeneration,
  );
  expect(generations).toEqual([1, 2]);
  expect(deployment.licenses).toHaveLength(1);
});

test("a coderd that already has the license, as after a restore of the control plane, is left with one", async () => {
  const coderd = await stage.coderd("restored");
  coderd.deployment.addLicense(license);
  await stage.putSecret("restored-license", { license });
  await stage.serve("restored", coderd, { licenseSecretRef: { name: "restored-license" } });
  await stage.untilStatus("restored", { licenseLastAppliedHash: hash, licenseTier: "premium" });
  await stage.untilCondition("restored", "LicenseApplied", { status: "True", reason: "Applied" });
  expect(coderd.deployment.licenses).toHaveLength(1);
});
