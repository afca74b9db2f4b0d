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
];
