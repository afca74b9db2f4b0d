import type { Condition, Kind, KubeObject } from "kube-controller-runtime";
import type { Dice } from "kube-controller-runtime/testing";
import {
  CoderControlPlane,
  CoderGroup,
  CoderOrganization,
  CoderProvisioner,
  CoderWorkspaceProxy,
} from "../../src/api/v1alpha1/kinds.ts";
import { APPS } from "../../src/operator/names.ts";
import { crdSchemas } from "../support/world/schemas.ts";
import { type DrawnSchema, drawValue } from "./draw.ts";

/** An object of ours, whichever kind. */
export interface Drawn extends KubeObject {
  status?: { conditions?: Condition[]; observedGeneration?: number };
}

export const drawnKinds = [
  CoderControlPlane,
  CoderProvisioner,
  CoderWorkspaceProxy,
  CoderOrganization,
  CoderGroup,
] as unknown as readonly Kind<Drawn>[];

export interface Place {
  readonly namespace: string;
  readonly name: string;
}

const toCoder = { controlPlaneRef: { name: "coder" } };
const session = { credentialsSecretRef: { name: "token" } };

/** What leads to coderd: without it few of the drawn objects would ever speak to one. */
const connections: Readonly<Record<string, object>> = {
  CoderControlPlane: {
    operatorAccess: { tokenSecretRef: { name: "token" } },
    licenseSecretRef: { name: "x" },
  },
  CoderProvisioner: { ...toCoder, bootstrap: session },
  CoderWorkspaceProxy: {
    ...{ controlPlaneRef: undefined, registration: undefined },
    bootstrap: { coderURL: "http://coder.example.com", ...session },
  },
  CoderOrganization: { ...toCoder, adopt: true },
  CoderGroup: { ...toCoder, adopt: true, organizationName: "default" },
};

/** An object of the kind with extreme values, whose database is at `databaseURL`. */
export function drawObject(
  kind: Kind<Drawn>,
  metadata: Place,
  { dice, databaseURL }: { readonly dice: Dice; readonly databaseURL: string },
): Drawn {
  const schema = crdSchemas()[kind.kind] as unknown as DrawnSchema;
  const spec = drawValue(schema.properties?.spec ?? {}, dice) as { extraEnv?: object[] };
  const database = { name: "CODER_PG_CONNECTION_URL", value: databaseURL };
  const hasPods = kind.kind in APPS;
  const connection = dice.next() < 0.6 ? connections[kind.kind] : {};
  const drawn = {
    ...spec,
    ...(hasPods ? { extraEnv: [...(spec.extraEnv ?? []), database] } : {}),
    ...connection,
  };
  return { apiVersion: kind.apiVersion, kind: kind.kind, metadata, spec: drawn } as Drawn;
}
