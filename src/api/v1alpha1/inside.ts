import { lastColumns, readinessColumns, statusFields } from "./common.ts";
import { insideDefaults } from "./defaults.ts";
import { objectName } from "./names.ts";
import {
  choice,
  column,
  flag,
  object,
  optional,
  type PrinterColumn,
  type Rule,
  type Static,
  text,
  wideColumn,
} from "./schema.ts";

/*
 * Common parts of the kinds that describe an entity in coderd's database, such as a group.
 */

/** Names of coderd: letters, digits and single hyphens, and neither `new` nor `create`, which are parts of its URLs. */
const COMPONENTS = "[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*";

/** The name of an entity, or of a user or a role, as coderd accepts it. */
export function entityName(description: string, maxLength: number) {
  return text(description, { minLength: 1, maxLength, pattern: `^${COMPONENTS}$` });
}

/** Without a name in the spec the name of the object has to be one that coderd accepts. */
export function nameFits(maxLength: number): readonly Rule[] {
  const name = "(has(self.spec.name) ? self.spec.name : self.metadata.name)";
  return [
    {
      rule: `has(self.spec.name) || (size(self.metadata.name) <= ${maxLength} && self.metadata.name.matches('^${COMPONENTS}$'))`,
      message: `must consist of at most ${maxLength} letters, digits and single hyphens, or spec.name must be set to a name that coderd accepts`,
      fieldPath: ".metadata.name",
    },
    {
      rule: `!(${name} in ['new', 'create'])`,
      message: "must not be new or create, which coderd reserves",
      fieldPath: ".spec.name",
    },
  ];
}

export const displayName = text("Display name in the dashboard.", {
  maxLength: 64,
  pattern: "^(\\S(.*\\S)?)?$",
});

const controlPlaneRef = object("Control plane whose coderd has the entity. Immutable.", {
  name: objectName("Name of a CoderControlPlane in the same namespace."),
});

/** Fields of every spec. */
export const entityFields = {
  adopt: optional(
    flag(
      "Takes over an entity with this name that already exists. Otherwise, the operator leaves it alone and reports a conflict.",
      { default: insideDefaults.adopt },
    ),
  ),
  controlPlaneRef,
  deletionPolicy: optional(
    choice(
      "Whether the entity is deleted together with the object. Retain leaves it in coderd.",
      ["Retain", "Delete"] as const,
      { default: insideDefaults.deletionPolicy },
    ),
  ),
  managementPolicy: optional(
    choice(
      "Manage creates and corrects the entity. Observe changes nothing and reports differences.",
      ["Manage", "Observe"] as const,
      { default: insideDefaults.managementPolicy },
    ),
  ),
};

export const specNeeded =
  "controlPlaneRef.name must be the name of a CoderControlPlane in the same namespace";

/** Another control plane, or another organization, has other entities: that is another object. */
export const immutableControlPlane: Rule = {
  rule: "self.controlPlaneRef.name == oldSelf.controlPlaneRef.name",
  message: "is immutable; create another object for another control plane",
  fieldPath: ".controlPlaneRef.name",
};

const { conditions, observedGeneration } = statusFields;

/** Fields of every status. */
export const entityStatusFields = {
  conditions,
  creating: optional(
    text("Name of the entity that the operator is about to create. Present only during creation."),
  ),
  id: optional(text("ID of the entity in coderd.")),
  observedGeneration,
};

const entitySpec = object("Spec of every entity.", entityFields);
const entityStatus = object("Status of every entity.", entityStatusFields);

/** Fields that the specs of all these kinds have. */
export type EntitySpec = Static<typeof entitySpec> & { name?: string };
export type EntityStatus = Static<typeof entityStatus>;

export const entityColumns: readonly PrinterColumn[] = [
  ...readinessColumns.slice(0, 2),
  column("Control Plane", ".spec.controlPlaneRef.name", "Control plane whose coderd has the entity."),
  wideColumn("ID", ".status.id", "ID in coderd."),
  ...lastColumns,
];
