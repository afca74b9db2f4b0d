import manifest from "../package.json" with { type: "json" };

/** The version of this build; the bundle carries it inside. */
export const version: string = manifest.version;
