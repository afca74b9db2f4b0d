import { expect, test } from "vitest";
import type { ProvisionerKey } from "../../src/coder/model.ts";
import { type KeyFacts, type KeyPlan, planKey } from "../../src/operator/provisioner/key/plan.ts";
import {
  type AppliedKey,
  type CoderdKeys,
  isWantedName,
  type KeyRecord,
  tagsHash,
  type WantedKey,
} from "../../src/operator/provisioner/key/record.ts";
import type { HeldKey } from "../../src/operator/provisioner/key/secret.ts";

/*
 * A steady state, and a table whose rows say only in what they differ from it.
 */

export const tags = { env: "prod" };
export const place = { name: "pool-provisioner-key", key: "key" };
const token = { name: "coder-operator-token", key: "token" };
export const organizationID = "org-1";

const provisioner = {
  identity: { name: "pool", namespace: "dev", uid: "u" },
  key: { name: "pool", nameIsFixed: false, secret: place },
};

const wanted: WantedKey = {
  controlPlaneRefName: "coder",
  controlPlaneURL: "http://coder:80",
  credentialsSecretRef: token,
  organizationName: "default",
  tags,
  name: "pool",
  nameIsFixed: false,
  freshName: "pool-0000beef",
  isWantedName: (name) => isWantedName(name, provisioner),
  secretRef: place,
};

/** The same with a name that the user insists on. */
export function fixed(name: string): Partial<WantedKey> {
  return { name, nameIsFixed: true, isWantedName: (other) => other === name };
}

export const applied = {
  name: "pool",
  id: "k1",
  organizationID,
  organizationName: "default",
  tagsHash: tagsHash(tags),
  controlPlaneRefName: "coder",
  controlPlaneURL: "http://coder:80",
  credentialsSecretRef: token,
  secretRef: place,
} satisfies AppliedKey;

export const nothingApplied = Object.fromEntries(
  Object.keys(applied).map((field) => [field, undefined]),
) as unknown as AppliedKey;

export const key = (over: Partial<ProvisionerKey> = {}): ProvisionerKey => ({
  id: "k1",
  name: "pool",
  tags,
  createdAt: undefined,
  ...over,
});

export const coderd = (...keys: ProvisionerKey[]): CoderdKeys => ({ organizationID, keys });

export const held = (over: Partial<HeldKey> = {}): HeldKey => ({ place, keyName: "pool", ...over });

export const pending: KeyRecord = {
  name: "pool-0000cafe",
  attempt: "a1",
  organizationID,
  organizationName: "default",
  tagsHash: tagsHash(tags),
  controlPlaneRefName: "coder",
  controlPlaneURL: "http://coder:80",
  credentialsSecretRef: token,
};

export const adopted = { ...applied, name: "pool-0000cafe", id: undefined };

interface Case {
  readonly when: string;
  readonly wanted?: Partial<WantedKey>;
  readonly applied?: Partial<AppliedKey>;
  readonly pending?: KeyRecord;
  readonly retired?: readonly KeyRecord[];
  readonly held?: readonly HeldKey[];
  readonly coderd?: CoderdKeys;
  readonly isCheckDue?: boolean;
  readonly secret?: KeyFacts["secret"];
  readonly isDisowned?: boolean;
  readonly plan: KeyPlan;
}

function planOf(row: Case): KeyPlan {
  const facts: KeyFacts = {
    wanted: { ...wanted, ...row.wanted },
    applied: { ...applied, ...row.applied },
    pending: row.pending,
    retired: row.retired ?? [],
    held: row.held ?? [held()],
    coderd: row.coderd,
    isCheckDue: row.isCheckDue ?? false,
    secret: row.secret ?? "proven",
    isDisowned: row.isDisowned ?? false,
  };
  return planKey(facts);
}

export function table(rows: readonly Case[]): void {
  test.each(rows)("$when", (row) => {
    expect(planOf(row)).toEqual(row.plan);
  });
}

export const keep: KeyPlan = { do: "keep" };
export const ask: KeyPlan = { do: "ask", needed: true };
export const record: KeyPlan = { do: "record", key: applied };
export const rotate = (name: string, ...because: (KeyPlan & { do: "rotate" })["because"]): KeyPlan => ({
  do: "rotate",
  name,
  because,
});
