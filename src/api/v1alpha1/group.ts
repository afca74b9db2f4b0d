import { specRequired } from "./common.ts";
import { insideDefaults } from "./defaults.ts";
import {
  displayName,
  entityColumns,
  entityFields,
  entityName,
  entityStatusFields,
  immutableControlPlane,
  nameFits,
  specNeeded,
} from "./inside.ts";
import { maxGroupNameLength, maxMembers, maxUsernameLength } from "./limits.ts";
import {
  int32,
  type KindDescription,
  list,
  object,
  optional,
  rules,
  type Static,
  text,
  wideColumn,
} from "./schema.ts";

const organization = (object: string) =>
  `(has(${object}.organizationName) ? ${object}.organizationName : '${insideDefaults.organizationName}')`;

const groupSpec = object(
  "Desired state of the group. Fields that are not set are not managed.",
  {
    ...entityFields,
    avatarURL: optional(text("Path or URL of the image in the dashboard.")),
    displayName: optional(displayName),
    members: optional(
      list(
        "User names of all members. An empty list removes every member. Not allowed while the organization syncs groups from the identity provider.",
        entityName("User name.", maxUsernameLength),
        { maxItems: maxMembers, "x-kubernetes-list-type": "set" },
      ),
    ),
    name: optional(
      entityName("Name of the group in coderd. Defaults to the name of the object.", maxGroupNameLength),
    ),
    organizationName: optional(
      text(
        `Organization that the group belongs to. Defaults to \`${insideDefaults.organizationName}\`. Immutable.`,
        { minLength: 1, maxLength: 128 },
      ),
    ),
    quotaAllowance: optional(
      int32("Quota that each member gets for the cost of workspaces.", { minimum: 0 }),
    ),
  },
  rules(immutableControlPlane, {
    rule: `${organization("self")} == ${organization("oldSelf")}`,
    message: "is immutable; create another object for another organization",
    fieldPath: ".organizationName",
  }),
);

const groupStatus = object("Most recently observed state of the group.", {
  ...entityStatusFields,
  organizationID: optional(text("ID of the organization of the group.")),
});

export type GroupSpec = Static<typeof groupSpec>;
export type GroupStatus = Static<typeof groupStatus>;

export const group: KindDescription = {
  shortName: "cgrp",
  description: "CoderGroup describes a group in coderd: its quota and its members.",
  spec: groupSpec,
  status: groupStatus,
  rules: [specRequired(specNeeded), ...nameFits(maxGroupNameLength)],
  columns: [
    ...entityColumns.slice(0, 3),
    wideColumn("Organization", ".spec.organizationName", "Organization of the group."),
    ...entityColumns.slice(3),
  ],
};
