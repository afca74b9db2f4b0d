import { entityName } from "./inside.ts";
import { maxMappedNames } from "./limits.ts";
import { listsByKey, text } from "./schema.ts";

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
