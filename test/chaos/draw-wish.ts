import type { Dice } from "kube-controller-runtime/testing";
import {
  type Fleet,
  type GroupWish,
  LICENSES,
  ORGANIZATIONS,
  type ProvisionerWish,
  type ProxyWish,
  type Wish,
  wishesOf,
} from "./fleet.ts";

/** A change that a user makes: what the object is to be from now on, and what is new about it. */
export interface Change {
  readonly of: string;
  readonly wish: Wish;
}

/** Chooses an object and something about it that is to be different. */
export function drawWish(dice: Dice, fleet: Fleet): Change {
  const wish = dice.pick([...fleet.values()]);
  switch (wish.kind) {
    case "CoderControlPlane":
      return dice.next() < 0.5
        ? { of: "replicas", wish: { ...wish, replicas: 3 - wish.replicas } }
        : { of: "the license", wish: { ...wish, license: otherThan(wish.license, LICENSES, dice) } };
    case "CoderProvisioner":
      return provisionerChange(wish, dice, fleet);
    case "CoderWorkspaceProxy":
      return proxyChange(wish, dice);
    case "CoderGroup":
      return groupChange(wish, dice);
  }
}

/**
 * An object to delete and recreate. What it leaves at coderd when that can't be reached keeps its name,
 * so names that users chose are others the second time, as they would have to be.
 */
export function drawRecreation(dice: Dice, fleet: Fleet): Wish {
  const wish = dice.pick([...fleet.values()]);
  switch (wish.kind) {
    case "CoderControlPlane":
      return wish;
    case "CoderProvisioner":
      return { ...wish, keyName: wish.keyName && freshName(wish.name, dice) };
    case "CoderWorkspaceProxy":
      return { ...wish, proxyName: freshName(wish.name, dice) };
    case "CoderGroup":
      return {
        ...wish,
        organization: dice.pick(ORGANIZATIONS),
        groupName: freshName(wish.name, dice),
      };
  }
}

function provisionerChange(wish: ProvisionerWish, dice: Dice, fleet: Fleet): Change {
  const of = dice.weighted({
    tags: 4,
    replicas: 3,
    "the key's name": 3,
    organization: 2,
    "control plane": 1,
  });
  switch (of) {
    case "tags":
      return { of, wish: { ...wish, tags: { pool: wish.name, round: String(dice.whole(1, 999)) } } };
    case "replicas":
      return { of, wish: { ...wish, replicas: 3 - wish.replicas } };
    case "the key's name": {
      const keyName = dice.next() < 0.3 ? undefined : freshName(wish.name, dice);
      return { of, wish: { ...wish, keyName } };
    }
    case "organization":
      return { of, wish: { ...wish, organization: otherThan(wish.organization, ORGANIZATIONS, dice) } };
    case "control plane": {
      const names = wishesOf(fleet, "CoderControlPlane").map(({ name }) => name);
      return { of, wish: { ...wish, controlPlane: otherThan(wish.controlPlane, names, dice) } };
    }
  }
}

function proxyChange(wish: ProxyWish, dice: Dice): Change {
  const of = dice.pick(["the name", "the display name", "replicas"] as const);
  switch (of) {
    case "the name":
      return { of, wish: { ...wish, proxyName: freshName(wish.name, dice) } };
    case "the display name":
      return { of, wish: { ...wish, displayName: `Proxy ${dice.whole(100, 999)}` } };
    case "replicas":
      return { of, wish: { ...wish, replicas: 3 - wish.replicas } };
  }
}

function groupChange(wish: GroupWish, dice: Dice): Change {
  return dice.next() < 0.5
    ? { of: "the quota", wish: { ...wish, quota: wish.quota + dice.whole(1, 9) } }
    : { of: "the name", wish: { ...wish, groupName: freshName(wish.name, dice) } };
}

function otherThan<T extends {}>(present: T, choices: readonly T[], dice: Dice): T {
  const others = choices.filter((choice) => choice !== present);
  return others.length > 0 ? dice.pick(others) : present;
}

/** Long enough that no two of a campaign are the same. */
function freshName(name: string, dice: Dice): string {
  return `${name}-r${dice.whole(0, 0xffffff).toString(16).padStart(6, "0")}`;
}
