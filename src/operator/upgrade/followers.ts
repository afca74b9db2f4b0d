import type { ControlPlaneStatus } from "../../api/v1alpha1/control-plane.ts";
import type { UpgradeSettings } from "../coderd/settings.ts";
import { isGivenUp, isUpgrading } from "./stages.ts";

export type FollowerKind = "provisioner" | "workspaceproxy";

export function followerKey(kind: FollowerKind, name: string): string {
  return `${kind}/${name}`;
}

/**
 * Image for a follower: the one in the spec after the control plane has reached it and, during an upgrade,
 * only when it is the follower's turn.
 */
export function followedImage(
  {
    settings,
    status: { image, upgrade },
  }: {
    readonly settings: { readonly image: string; readonly upgrade: Pick<UpgradeSettings, "strategy"> };
    readonly status: Pick<ControlPlaneStatus, "image" | "upgrade">;
  },
  key: string,
): string {
  if (settings.upgrade.strategy === "Rolling") return settings.image;
  if (upgrade && isGivenUp(upgrade)) return upgrade.from;
  if (!isUpgrading(upgrade)) return image ?? settings.image;
  const hasTurn = upgrade.stage === "Followers" && key <= (upgrade.follower ?? "");
  return hasTurn ? upgrade.to : upgrade.from;
}
