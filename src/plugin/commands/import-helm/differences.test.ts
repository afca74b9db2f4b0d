import { expect, test } from "vitest";
import { differences } from "./differences.ts";

const deployment = (container: object, spec: object = {}) => ({
  kind: "Deployment",
  spec: { ...spec, template: { spec: { containers: [{ name: "coder", ...container }] } } },
});

test("a comparison names fields that differ, and shows no value of a variable", () => {
  const before = deployment({ env: [{ name: "A", value: "s3cr3t" }] }, { replicas: 1 });
  const after = deployment({ env: [{ name: "A", value: "other" }] }, { replicas: 2 });
  expect(differences([before], [after])).toEqual([
    { kind: "Deployment", path: "spec.replicas", before: "1", after: "2", because: undefined },
    {
      kind: "Deployment",
      path: "spec.template.spec.containers[0].env[A].value",
      before: "(a value)",
      after: "(a value)",
      because: undefined,
    },
  ]);
});

test.each([
  ["--postgres-url=postgres://coder:hunter2@db/coder"],
  ["--oidc-client-secret=hunter2"],
  ["hunter2"],
])("of the argument %s only the name of a flag is shown", (argument) => {
  const found = differences([deployment({ args: [argument] })], [deployment({})]);
  expect(found).toHaveLength(1);
  expect(JSON.stringify(found)).not.toContain("hunter2");
});

test("an argument with another value is a difference", () => {
  const [before, after] = ["--a=1", "--a=2"].map((argument) => deployment({ args: [argument] }));
  const path = "spec.template.spec.containers[0].args[--a=(a value)]";
  const difference = { kind: "Deployment", path, because: undefined };
  expect(differences([before], [after])).toEqual([
    { ...difference, before: "there", after: undefined },
    { ...difference, before: undefined, after: "there" },
  ]);
});

test("defaults of Kubernetes, another order and another spelling of a quantity are not differences", () => {
  const before = deployment({
    terminationMessagePath: "/dev/termination-log",
    resources: { limits: { cpu: "2" } },
    env: [{ name: "A" }, { name: "B", value: "1" }],
  });
  const after = deployment({
    resources: { limits: { cpu: "2000m" } },
    env: [{ name: "B", value: "1" }, { name: "A" }],
  });
  expect(differences([before], [after])).toEqual([]);
});

test("an object that only one side has is a difference as a whole", () => {
  expect(differences([], [{ kind: "Ingress" }])).toEqual([
    { kind: "Ingress", path: "", before: undefined, after: "there", because: undefined },
  ]);
});

test("only the kinds that could be read are compared", () => {
  expect(differences([], [{ kind: "Ingress" }], ["Service"])).toEqual([]);
});
