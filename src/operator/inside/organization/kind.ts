import type { Stored } from "kube-controller-runtime";
import { CoderGroup, CoderOrganization } from "../../../api/v1alpha1/kinds.ts";
import type { OrganizationEntity } from "../../../coder/inside/organizations.ts";
import { succeeded } from "../../../coder/result.ts";
import { defined } from "../../normalize.ts";
import { collections, type Inside } from "../coderd.ts";
import type { EntityKind, Setting, Wanted } from "../kind.ts";
import { entityNameOf } from "../object.ts";
import { customRoles } from "./custom-roles.ts";
import { groupSync, roleSync } from "./idp-sync.ts";

/** Organizations of coderd, with their custom roles and what happens in them at a sign-on. */
export const organizationKind: EntityKind<CoderOrganization, OrganizationEntity> = {
  kind: CoderOrganization,
  noun: "organization",
  feature: "multiple_organizations",
  names: [CoderGroup],
  fields: ["name", "displayName", "description", "icon"],
  locate: async () => succeeded({}),
  resolve: async (object) => succeeded({ wanted: wantedOf(object) }),
  collection: () => collections.organizations,
  create: (client, _place, wanted) => client.createOrganization(wanted),
  correct: (client, { id }, { wanted, fields }) => {
    const values = Object.entries(wanted).filter(([field]) => fields.includes(field));
    return client.setOrganization(id, Object.fromEntries(values));
  },
  remove: (client, id) => client.deleteOrganization(id),
  settings,
};

function wantedOf(object: Stored<CoderOrganization>): Wanted<OrganizationEntity> {
  const { displayName, description, icon } = object.spec ?? {};
  return { name: entityNameOf(object), ...defined({ displayName, description, icon }) };
}

/** Roles come first: a mapping may name them. */
function settings({ spec }: Stored<CoderOrganization>, id: string, inside: Inside): readonly Setting[] {
  const { groups, roles } = spec?.idpSync ?? {};
  return [
    ...(spec?.customRoles ? [customRoles(spec.customRoles, id, inside)] : []),
    ...(groups ? [groupSync(groups, id, inside)] : []),
    ...(roles ? [roleSync(roles, id, inside)] : []),
  ];
}
