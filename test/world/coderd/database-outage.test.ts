import { type Condition, findCondition } from "kube-controller-runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fakeLicense } from "../../../lab/coderd/licenses.ts";
import { CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import { type CoderdStage, openCoderdStage } from "./stage.ts";

const MINUTE_MS = 60_000;
/** What coderd can say without a look at its database. */
const KNOWN_BY_HEART = "healthz|api/v2/buildinfo|api/v2/entitlements";
const NEEDS_DATABASE = new RegExp(`^\\w+ /(?!${KNOWN_BY_HEART})`);

const answers: [string, object][] = [
  ["401, as 2.26 does", { status: 401 }],
  ["500, as 2.36 does", { status: 500 }],
];

let stage: CoderdStage;
beforeAll(async () => {
  stage = await openCoderdStage();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const message = "An internal error occurred. Please try again or contact the system administrator.";
const detail = "Internal error fetching API key by id. dial tcp 10.0.0.1:5432: connect: connection refused";

describe.each(answers)(
  "a coderd without its database, which answers with %s",
  (_, { status }: { status?: number }) => {
    const name = `outage-${status}`;
    const until = (type: string, expected: Partial<Condition>, withinMs: number) =>
      stage.eventually(
        async () => {
          const condition = findCondition((await stage.status(name)).conditions, type);
          expect(condition).toMatchObject(expected);
          return condition;
        },
        { withinMs },
      );

    test("is reported within 30 s at the control plane and its pools, and until the database is back", async () => {
      const coderd = await stage.coderd(name);
      coderd.deployment.addLicense(fakeLicense({ now: stage.clock.now() }));
      await stage.serve(name, coderd);
      await stage.untilCondition(name, "Ready", { status: "True" });
      await stage.untilCondition(name, "Healthy", { status: "True" });
      const autoscaling = { minReplicas: 1, maxReplicas: 2 };
      await stage.person.create(CoderProvisioner, {
        ...CoderProvisioner,
        metadata: stage.ref(name),
        spec: { controlPlaneRef: { name }, replicas: 1, autoscaling },
      } as CoderProvisioner);
      await stage.untilCondition(name, "BuildsServed", { status: "True" });
      const began = stage.clock.now();
      const recover = coderd.deployment.faults.inject({
        on: NEEDS_DATABASE,
        fault: { kind: "answer", status: status ?? 0, body: { message, detail } },
      });
      const without = { status: "False", reason: "CoderdWithoutDatabase" } as const;
      const ready = await until("Ready", without, MINUTE_MS);
      expect(stage.clock.now() - began).toBeLessThanOrEqual(30_000);
      expect(ready?.message).toContain("coderd cannot reach its database");
      expect(ready?.message).not.toContain("10.0.0.1");
      await stage.untilCondition(name, "Healthy", { status: "False", reason: "DatabaseFailing" });
      await stage.untilCondition(name, "BuildsServed", { status: "Unknown", reason: without.reason });
      await stage.timePasses(5 * MINUTE_MS);
      const pool = await stage.get(CoderProvisioner, name);
      for (const condition of pool.status?.conditions ?? [])
        expect(condition.message).not.toContain("Use a token");
      await stage.untilCondition(name, "OperatorAccessReady", { status: "True" });
      recover();
      await until("Ready", { status: "True" }, 30_000);
      await until("Healthy", { status: "True" }, 10 * MINUTE_MS);
      await until("BuildsServed", { status: "True" }, 10 * MINUTE_MS);
    });
  },
);

describe("a control plane that nothing else asks coderd for", () => {
  const name = "unasked";
  const USER = /users\/me$/;

  test("finds its outage within 30 s, and costs coderd three requests a minute at most until then", async () => {
    const coderd = await stage.coderd(name);
    const { deployment } = coderd;
    deployment.addLicense(fakeLicense({ now: stage.clock.now() }));
    await stage.serve(name, coderd);
    await stage.untilCondition(name, "Healthy", { status: "True" });
    await stage.timePasses(MINUTE_MS);
    const before = deployment.count(USER);
    const writes = () =>
      stage.operator.transport.requests.filter(
        ({ method, path }) => method !== "GET" && path.includes(`/${name}`) && !path.includes("/status"),
      ).length;
    const written = writes();
    const from = stage.clock.now();
    await stage.eventually(() => expect(stage.clock.now() - from).toBeGreaterThanOrEqual(MINUTE_MS), {
      withinMs: MINUTE_MS,
    });
    expect(deployment.count(USER) - before).toBeGreaterThanOrEqual(2);
    expect(deployment.count(USER) - before).toBeLessThanOrEqual(3);
    expect(writes()).toBe(written);
    const recover = deployment.faults.inject({
      on: NEEDS_DATABASE,
      fault: { kind: "answer", status: 500, body: { message, detail } },
    });
    const expected = { status: "False", reason: "CoderdWithoutDatabase" };
    for (const [type, state] of [
      ["Ready", expected],
      ["Healthy", { status: "False", reason: "DatabaseFailing" }],
    ] as const)
      await stage.eventually(
        async () => expect(findCondition((await stage.status(name)).conditions, type)).toMatchObject(state),
        { withinMs: 30_000 },
      );
    recover();
  });
});
