import { boolean, type Decoded, list, object, optional, unlimitedString } from "./decode.ts";

const banner = object((field) => ({
  enabled: field("enabled", boolean),
  message: field("message", optional(unlimitedString)) ?? "",
  backgroundColor: field("background_color", optional(unlimitedString)) ?? "",
}));
export type Banner = Decoded<typeof banner>;

/**
 * Appearance settings that a request can set. No value is truncated, because a change of one setting sends
 * the others back.
 */
export const appearance = object((field) => ({
  applicationName: field("application_name", unlimitedString),
  logoUrl: field("logo_url", unlimitedString),
  banners: field("announcement_banners", list(banner)),
}));
export type Appearance = Decoded<typeof appearance>;

export function appearanceBody({ applicationName, logoUrl, banners }: Appearance) {
  return {
    application_name: applicationName,
    logo_url: logoUrl,
    announcement_banners: banners.map(({ enabled, message, backgroundColor }) => ({
      enabled,
      message,
      background_color: backgroundColor,
    })),
  };
}
