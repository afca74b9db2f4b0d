import { recordedSecretRef, secretKeyRef } from "./common.ts";
import { firstAdminDefaults } from "./defaults.ts";
import { maxEmailLength, maxRealNameLength, maxUsernameLength, reservedUsernames } from "./limits.ts";
import { object, optional, type Rule, rules, type Static, text, word } from "./schema.ts";

export const firstAdmin = object(
  "First user of coderd, with the owner role. The operator creates the user once, and only if coderd has no users. It never changes an existing user.",
  {
    email: text("Email address of the user.", {
      minLength: 3,
      maxLength: maxEmailLength,
      pattern: "^[^\\s@<>]+@[^\\s@<>]+$",
    }),
    name: optional(
      text("Full name of the user.", { maxLength: maxRealNameLength, pattern: "^(\\S(.*\\S)?)?$" }),
    ),
    passwordSecretRef: optional(
      secretKeyRef(
        "Secret with the initial password. If not set, the operator generates a password and stores it in the Secret named after the object, followed by `-first-admin`.",
        firstAdminDefaults.passwordKey,
      ),
    ),
    username: optional(
      text("Username of the user.", {
        minLength: 1,
        maxLength: maxUsernameLength,
        pattern: "^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$",
        default: firstAdminDefaults.username,
        ...rules({
          rule: `!(self.lowerAscii() in [${reservedUsernames.map((name) => `'${name}'`).join(", ")}])`,
          message: `must not be one of the names that Coder and the operator reserve: ${reservedUsernames.join(", ")}`,
        }),
      }),
    ),
  },
);
export type FirstAdminSpec = Static<typeof firstAdmin>;

export const firstAdminStatus = object("First user of coderd.", {
  email: text("Email address that spec.firstAdmin had."),
  passwordSecretRef: optional(recordedSecretRef("Location of the initial password.")),
  state: word<"Creating" | "Created" | "UsersExist">(
    "Creating until coderd confirms the user, then Created. UsersExist if coderd had users that the operator did not create.",
  ),
  username: text("Username that spec.firstAdmin had."),
});
export type FirstAdminStatus = Static<typeof firstAdminStatus>;

/** Two Secrets that the operator makes can't have one name. */
export const ownPasswordSecret: Rule = {
  fieldPath: ".spec.operatorAccess.generatedTokenSecretName",
  rule: "!has(self.spec) || !has(self.spec.firstAdmin) || has(self.spec.firstAdmin.passwordSecretRef) || !has(self.spec.operatorAccess) || !has(self.spec.operatorAccess.generatedTokenSecretName) || self.spec.operatorAccess.generatedTokenSecretName.trim() != self.metadata.name + '-first-admin'",
  message:
    "spec.operatorAccess.generatedTokenSecretName must not be the name of the Secret for the password of spec.firstAdmin",
};
