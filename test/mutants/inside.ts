import type { Mutant } from "./mutant.ts";

const tests = ["test/world/inside"];

/** What the operator keeps inside coderd, with an owner's token. */
export const insideMutants: readonly Mutant[] = [
  {
    guard: "inside: of two objects for one entity, the younger one changes nothing",
    file: "src/operator/inside/plan.ts",
    from: 'if (rival) return { do: "refuse", entity: own ?? named, rival };',
    to: "",
    tests,
  },
  {
    guard: "inside: the name is recorded before the entity is created",
    file: "src/operator/inside/effect.ts",
    from: "if (!(await own.record(() => ({ id: undefined, creating: name })))) return { overtaken: true };",
    to: "",
    tests,
  },
  {
    guard: "inside: an object that only observes deletes nothing",
    file: "src/operator/inside/object.ts",
    from: 'return policy === "Delete" && !observesOnly(object);',
    to: 'return policy === "Delete";',
    tests,
  },
  {
    guard: "inside: with its control plane, nothing in coderd is deleted",
    file: "src/operator/inside/release.ts",
    from: "if (isControlPlaneEnding || !snapshot.controlPlane)",
    to: "if (!snapshot.controlPlane)",
    tests,
  },
  {
    guard: "inside: no message quotes the values of claims that coderd refuses",
    file: "src/coder/inside/calls.ts",
    from: "secrets: Object.keys(body.mapping)",
    to: "secrets: []",
    tests: ["test/world/inside/privacy.test.ts"],
  },
  {
    guard: "first admin: nothing is exposed before it exists",
    file: "src/operator/control-plane/first-admin/hold.ts",
    from: 'if (!awaitsFirstAdmin || isExposed || controlPlane.exposure.kind === "none")',
    to: 'if (isExposed || controlPlane.exposure.kind === "none" || !isExposed)',
    tests: ["test/world/control-plane"],
  },
  {
    guard: "first admin: no other user is created after a lost answer",
    file: "src/operator/control-plane/first-admin/effect.ts",
    from: 'if (failure.kind !== "transient") await',
    to: "await",
    tests: ["test/world/control-plane"],
  },
];
