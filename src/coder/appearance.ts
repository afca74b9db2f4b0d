import { boolean, type Decoded, list, object, optional, wholeText } from "./decode.ts";

const banner = object((field) => ({
  enabled: field("enabled", boolean),
  message: field("message", optional(wholeText)) ?? "",
  backgroundColor: field("background_color", optional(wholeText)) ?? "",
}));
export type Banner = Decoded<typeof banner>;

/** All that a request can set of how the dashboard looks. Nothing is cut: who sets one part sends the others back. */
export const appearance = object((field) => ({
  applicationName: field("application_name", wholeText),
  logoUrl: field("logo_url", wholeText),
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
