import type { AnnouncementStatus } from "../../../api/v1alpha1/upgrade.ts";
import type { Banner } from "../../../coder/appearance.ts";
import type { CoderClient } from "../../../coder/client.ts";
import type { CoderFailure } from "../../../coder/failure.ts";
import { type Result, succeeded } from "../../../coder/result.ts";

type Answer<T> = Promise<Result<T, CoderFailure>>;

/** A notice of an upgrade in coderd. */
export interface Notice {
  readonly name: keyof AnnouncementStatus;
  /** Feature that the license must include, by its name in coderd. */
  readonly feature: string;
  /** Whether the notice exists in coderd, regardless of who created it. */
  readonly isActive: (client: CoderClient) => Answer<boolean>;
  readonly announce: (client: CoderClient) => Answer<void>;
  readonly putBack: (client: CoderClient) => Answer<void>;
  readonly texts: {
    readonly announced: string;
    readonly ended: string;
    /** Followed by the reason. */
    readonly notAnnounced: string;
    readonly notEnded: string;
    readonly existedBefore: string;
  };
}

/** The default color of Coder's form. */
const BANNER_COLOR = "#ABB8C3";

/** A banner is identified by its message, so that it can be removed after users change its appearance. */
export function bannerNotice(message: string): Notice {
  return {
    name: "banner",
    feature: "appearance",
    isActive: async (client) => {
      const seen = await client.appearance();
      return seen.ok ? succeeded(seen.value.banners.some((banner) => banner.message === message)) : seen;
    },
    announce: (client) =>
      changeBanners(client, (banners) => [
        ...banners,
        { enabled: true, message, backgroundColor: BANNER_COLOR },
      ]),
    putBack: (client) => changeBanners(client, (banners) => withoutLast(banners, message)),
    texts: {
      announced: `The banner "${message}" is shown during the upgrade.`,
      ended: "The upgrade banner was removed.",
      notAnnounced: "The upgrade banner is not shown.",
      notEnded: "The upgrade banner is not removed yet.",
      existedBefore: "A banner with the same message existed before the upgrade and remains.",
    },
  };
}

/**
 * coderd replaces all banners at once, so they are read immediately before the change to keep changes by
 * users.
 */
async function changeBanners(
  client: CoderClient,
  change: (banners: readonly Banner[]) => readonly Banner[],
): Answer<void> {
  const seen = await client.appearance();
  if (!seen.ok) return seen;
  return client.setAppearance({ ...seen.value, banners: change(seen.value.banners) });
}

function withoutLast(banners: readonly Banner[], message: string): Banner[] {
  const ours = banners.findLastIndex((banner) => banner.message === message);
  return banners.filter((_, index) => index !== ours);
}

export const prebuildsNotice: Notice = {
  name: "prebuilds",
  feature: "workspace_prebuilds",
  isActive: (client) => client.prebuildsPaused(),
  announce: (client) => client.setPrebuildsPaused(true),
  putBack: (client) => client.setPrebuildsPaused(false),
  texts: {
    announced: "Prebuilds are paused during the upgrade.",
    ended: "Prebuilds were resumed after the upgrade.",
    notAnnounced: "Prebuilds are not paused for the upgrade.",
    notEnded: "Prebuilds are not resumed yet.",
    existedBefore: "Prebuilds were paused before the upgrade and stay paused.",
  },
};
