import { expect, test } from "vitest";
import {
  at,
  BETWEEN,
  began,
  crashing,
  facts,
  failing,
  gone,
  halfway,
  migrated,
  noDatabase,
  noPods,
  OLD,
  starting,
} from "../../../test/support/upgrade-plan.ts";
import type { UpgradeStage } from "../../api/v1alpha1/upgrade.ts";
import type { UpgradeFacts } from "./facts.ts";
import { planUpgrade } from "./plan.ts";

test.each<[string, UpgradeStage, UpgradeFacts["pods"]]>([
  ["Stuck", "Stuck", crashing],
  ["ScalingOut", "ScalingOut", halfway],
  ["Migrating", "Migrating", starting],
])(
  "in stage %s an image that can't follow on a changed schema is refused in the message",
  (_case, stage, pods) => {
    const plan = planUpgrade(facts({ record: at(stage, began), wanted: BETWEEN, pods, database: migrated }));
    expect(plan).toMatchObject({ message: expect.stringContaining("v2.30.0") });
    expect(plan).toMatchObject({ message: expect.stringContaining("DowngradeRefused") });
  },
);

test.each<[string, Partial<UpgradeFacts>]>([
  ["an old pod hangs", { pods: { ...noPods, names: ["coder-1"] } }],
  ["the database is away", { pods: noPods, database: gone }],
])("while %s before any new pod was started, the message explains the rollback", (_case, more) => {
  const plan = planUpgrade(facts({ record: at("ScalingDown"), ...more }));
  expect(plan).toMatchObject({ message: expect.stringContaining(`set spec.image to "${OLD}"`) });
});

const problem = "It crashes.";
const given = { pods: crashing, record: at("Migrating", { ...failing, ...began }) };

test.each<[string, Partial<UpgradeFacts>]>([
  ["the schema has changed", { database: migrated }],
  ["the database cannot be inspected", { database: noDatabase }],
])("when %s, what fails is last in the message, since it ends with a command", (_case, more) => {
  const plan = planUpgrade(facts({ ...given, ...more }));
  const message = expect.stringMatching(new RegExp(`\\. ${problem}$`));
  expect(plan).toMatchObject({ record: { stage: "Stuck", message } });
});

test("while the database is unreachable, the failure is last in the message too", () => {
  const record = at("Migrating", began);
  const plan = planUpgrade(facts({ record, pods: crashing, database: gone }));
  expect(plan).toMatchObject({ message: expect.stringMatching(new RegExp(`\\. ${problem}$`)) });
});

test("an upgrade that is rolled back after a restore does not repeat that no rollback was possible", () => {
  const record = at("Stuck", { message: "The old version can't come back by itself." });
  const plan = planUpgrade(facts({ record, wanted: OLD, pods: crashing }));
  expect(plan).toMatchObject({ record: { stage: "RollingBack" } });
  expect(plan).not.toHaveProperty("record.message");
});
