import type { AnnouncementStatus } from "../../../api/v1alpha1/upgrade.ts";
import type { Banner } from "../../../coder/appearance.ts";
import type { CoderClient } from "../../../coder/client.ts";
import type { CoderFailure } from "../../../coder/failure.ts";
import { type Result, succeeded } from "../../../coder/result.ts";

type Answer<T> = Promise<Result<T, CoderFailure>>;

/** One way to announce an upgrade, as coderd has it. */
export interface Notice {
  readonly name: keyof AnnouncementStatus;
  /** What a license must include, by coderd's name for it. */
  readonly feature: string;
  /** Whether coderd has it now, whoever made it so. */
  readonly isThere: (client: CoderClient) => Answer<boolean>;
  readonly announce: (client: CoderClient) => Answer<void>;
  readonly putBack: (client: CoderClient) => Answer<void>;
  readonly texts: {
    readonly announced: string;
    readonly ended: string;
    /** Followed by why. */
    readonly notAnnounced: string;
    readonly notEnded: string;
    readonly thereBefore: string;
  };
}

/** The color that Coder's own form suggests. */
const BANNER_COLOR = "#ABB8C3";

/** A banner is told by its message, so that what people change of its looks does not keep it there. */
export function bannerNotice(message: string): Notice {
  return {
    name: "banner",
    feature: "appearance",
    isThere: async (client) => {
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
      thereBefore: "A banner with the same message existed before the upgrade and remains.",
    },
  };
}

/** coderd takes all banners or none, so they are read at the last moment: what people change is kept. */
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
  isThere: (client) => client.prebuildsPaused(),
  announce: (client) => client.setPrebuildsPaused(true),
  putBack: (client) => client.setPrebuildsPaused(false),
  texts: {
    announced: "Prebuilds are paused during the upgrade.",
    ended: "Prebuilds were resumed after the upgrade.",
    notAnnounced: "Prebuilds are not paused for the upgrade.",
    notEnded: "Prebuilds are not resumed yet.",
    thereBefore: "Prebuilds were paused before the upgrade and stay paused.",
  },
};
