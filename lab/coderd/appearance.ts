/** The appearance of the dashboard, as coderd stores it. */
export interface SimulatedAppearance {
  readonly application_name: string;
  readonly logo_url: string;
  readonly announcement_banners: readonly {
    readonly enabled: boolean;
    readonly message?: string;
    readonly background_color?: string;
  }[];
}

export const PLAIN_APPEARANCE: SimulatedAppearance = {
  application_name: "",
  logo_url: "",
  announcement_banners: [],
};
