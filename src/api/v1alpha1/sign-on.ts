import { entityName } from "./inside.ts";
import { maxMappedNames, maxUsernameLength } from "./limits.ts";
import { flag, listsByKey, object, optional, type Static, text } from "./schema.ts";

/*
 * Settings for the claims that an identity provider sends at each sign-on.
 */

export function claim(what: string) {
  return text(`Name of the claim with the ${what} of a person. An empty name turns the sync off.`, {
    maxLength: 256,
  });
}

/** From values of a claim to names of what people get. */
export function mapping(description: string, maxLength: number) {
  return listsByKey(description, entityName("Name in coderd.", maxLength), maxMappedNames);
}

/** Of the whole deployment. */
export const organizationSync = object(
  "What coderd does with the claims of the identity provider at each sign-on: the organizations that people are in. Settings that are not set are not managed.",
  {
    assignDefault: optional(flag("Whether all people are in the default organization as well.")),
    field: claim("organizations"),
    mapping: optional(
      mapping("Values of the claim, each with the names of organizations.", maxUsernameLength),
    ),
  },
);
export type OrganizationSyncSpec = Static<typeof organizationSync>;
