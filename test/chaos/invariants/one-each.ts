import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { type GroupWish, type ProvisionerWish, type ProxyWish, secretOf, wishesOf } from "../fleet.ts";
import type { Evidence } from "./evidence.ts";

/** Each provisioner has one key at its coderd, with the tags of its spec, and its Secret holds that key. */
export function oneKeyEach(evidence: Evidence): string[] {
  return wishesOf(evidence.fleet, "CoderProvisioner").flatMap((wish) =>
    keyProblems(wish, evidence).map((problem) => `${wish.name}: ${problem}`),
  );
}

function keyProblems(wish: ProvisionerWish, evidence: Evidence): string[] {
  const value = evidence.secrets.get(secretOf(wish));
  if (!value) return [`Secret ${secretOf(wish)} holds no key`];
  const coderd = evidence.coderds.get(wish.controlPlane);
  const accepted = coderd?.keys.find(({ plaintext }) => plaintext === value);
  if (!accepted) return [`the coderd of ${wish.controlPlane} does not accept the key in its Secret`];
  const problems: string[] = [];
  const { provisionerKeyName } = evidence.objects.get(wish.name)?.status ?? {};
  if (accepted.name !== provisionerKeyName)
    problems.push(`its Secret holds the key "${accepted.name}", its status says "${provisionerKeyName}"`);
  if (wish.keyName && accepted.name !== wish.keyName)
    problems.push(`its key is named "${accepted.name}" instead of "${wish.keyName}"`);
  if (accepted.organization !== wish.organization)
    problems.push(`its key is of organization ${accepted.organization} instead of ${wish.organization}`);
  if (!isDeepStrictEqual({ ...accepted.tags }, { ...wish.tags }))
    problems.push(
      `its key has the tags ${JSON.stringify(accepted.tags)} instead of ${JSON.stringify(wish.tags)}`,
    );
  return problems;
}

/** Each control plane has one token of the operator in its database, and its Secret holds that token. */
export function oneTokenEach({ fleet, coderds, secrets }: Evidence): string[] {
  return wishesOf(fleet, "CoderControlPlane").flatMap((wish) => {
    const tokens = coderds.get(wish.name)?.tokens ?? [];
    const [id, secret = ""] = (secrets.get(secretOf(wish)) ?? "").split("-");
    const hash = createHash("sha256").update(secret).digest("hex");
    const problems: string[] = [];
    if (tokens.length !== 1) problems.push(`${tokens.length} tokens of the operator in its database`);
    if (!tokens.some((token) => token.id === id && token.hash === hash))
      problems.push("the token in its Secret is not in its database");
    return problems.map((problem) => `${wish.name}: ${problem}`);
  });
}

/** Each workspace proxy has one record at its coderd, as its spec names it, and its Secret holds that token. */
export function oneProxyEach(evidence: Evidence): string[] {
  return wishesOf(evidence.fleet, "CoderWorkspaceProxy").flatMap((wish) =>
    proxyProblems(wish, evidence).map((problem) => `${wish.name}: ${problem}`),
  );
}

function proxyProblems(wish: ProxyWish, { coderds, secrets }: Evidence): string[] {
  const record = coderds.get(wish.controlPlane)?.proxies.find(({ name }) => name === wish.proxyName);
  if (!record) return [`the coderd of ${wish.controlPlane} has no proxy "${wish.proxyName}"`];
  const problems: string[] = [];
  if (record.token !== secrets.get(secretOf(wish)))
    problems.push("its Secret does not hold the proxy's token");
  if (record.displayName !== wish.displayName)
    problems.push(`coderd shows it as "${record.displayName}" instead of "${wish.displayName}"`);
  return problems;
}

/** Each group is at its coderd once, as its spec describes it, and its status has the ID. */
export function oneGroupEach(evidence: Evidence): string[] {
  return wishesOf(evidence.fleet, "CoderGroup").flatMap((wish) =>
    groupProblems(wish, evidence).map((problem) => `${wish.name}: ${problem}`),
  );
}

function groupProblems(
  { name, controlPlane, groupName, organization, quota }: GroupWish,
  { coderds, objects }: Evidence,
): string[] {
  const group = coderds
    .get(controlPlane)
    ?.groups.find((each) => each.name === groupName && each.organization === organization);
  if (!group) return [`organization ${organization} of ${controlPlane} has no group "${groupName}"`];
  const problems: string[] = [];
  if (group.quota !== quota) problems.push(`its quota is ${group.quota} instead of ${quota}`);
  if (group.id !== objects.get(name)?.status.id) problems.push("its status has another ID");
  return problems;
}
