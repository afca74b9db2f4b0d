import type { Mutant } from "./mutant.ts";

const folder = "src/operator/upgrade";
const plan = [`${folder}/plan.test.ts`, `${folder}/plan.property.test.ts`];

/** What keeps an upgrade from losing data, and pods of two versions from meeting. */
export const upgradeMutants: readonly Mutant[] = [
  {
    guard: "upgrades: nothing is done in a stage that is not recorded",
    file: `${folder}/effect.ts`,
    from: "  if (!written || !isOurs) return { overtaken: true };\n",
    to: "",
    tests: [`${folder}/effect.test.ts`],
  },
  {
    guard: "upgrades: what another process has recorded is not overwritten",
    file: `${folder}/effect.ts`,
    from: "return isOurs ? { upgrade: next, ...brought } : {};",
    to: "return { upgrade: next, ...brought };",
    tests: [`${folder}/effect.test.ts`],
  },
  {
    guard: "upgrades: an older version is refused",
    file: `${folder}/preflight.ts`,
    from: "if ((compareVersions(target, current) ?? 0) >= 0) return undefined;",
    to: "if (target !== current || target === current) return undefined;",
    tests: plan,
  },
  {
    guard: "upgrades: a failed backup stops the upgrade",
    file: `${folder}/stages-before.ts`,
    from: 'return enter("BackupFailed",',
    to: 'return enter("ScalingDown",',
    tests: plan,
  },
  {
    guard: "upgrades: the last old pod has ended before a new one starts",
    file: `${folder}/stages-after.ts`,
    from: `if (!pods.isScaledToZero || pods.names.length > 0)
    return stopped(\`\${waitingFor(pods.names)}\${rollbackHint(record)}\`);`,
    to: "",
    tests: plan,
  },
  {
    guard: "upgrades: a schema that a new pod may have migrated is not taken for the previous one",
    file: `${folder}/stages-after.ts`,
    from: "record.schemaBefore !== undefined || record.migratingSince !== undefined",
    to: "record.schemaBefore !== undefined",
    tests: plan,
  },
  {
    guard: "upgrades: on a changed schema no version before the new one follows",
    file: `${folder}/other-image.ts`,
    from: "sinceOld <= 0 || sinceNew < 0",
    to: "sinceOld <= 0",
    tests: plan,
  },
  {
    guard: "upgrades: one new pod migrates, not all at once",
    file: `${folder}/transitions.ts`,
    from: "replicas: Math.min(1, facts.replicas)",
    to: "replicas: facts.replicas",
    tests: plan,
  },
  {
    guard: "upgrades: the old version comes back only on an unchanged schema",
    file: `${folder}/facts.ts`,
    from: 'return version === schemaBefore && !isDirty ? "unchanged" : "changed";',
    to: 'return version === schemaBefore && !isDirty ? "unchanged" : "unchanged";',
    tests: plan,
  },
  {
    guard: "upgrades: with strategy Rolling there is none",
    file: `${folder}/plan.ts`,
    from: 'if (settings.strategy === "Rolling")',
    to: 'if (settings.strategy === "Rolling" && false)',
    tests: plan,
  },
  {
    guard: "upgrades: a deleted Deployment does not make one a first Deployment",
    file: `${folder}/plan.ts`,
    from: "begin(facts, facts.present ?? facts.settled)",
    to: "begin(facts, facts.present)",
    tests: plan,
  },
  {
    guard: "upgrades: what was announced before is not put back",
    file: "src/operator/upgrade/announce/plan.ts",
    from: 'if (record.state === "Skipped") return enter(undefined);',
    to: "",
    tests: ["src/operator/upgrade/announce/plan.test.ts"],
  },
  {
    guard: "upgrades: without the feature, which hides it, what was announced is not forgotten",
    file: "src/operator/upgrade/announce/plan.ts",
    from: 'if (seen === "notEntitled") return rest;',
    to: "",
    tests: ["src/operator/upgrade/announce/plan.test.ts"],
  },
  {
    guard: "upgrades: a paused Deployment starts no old pods again",
    file: "src/operator/control-plane/ensure-deployment.ts",
    from: "{ ...shape, spec: { ...shape.spec, paused: false } }",
    to: "shape",
    tests: ["test/world/upgrade/surroundings.test.ts"],
  },
];
