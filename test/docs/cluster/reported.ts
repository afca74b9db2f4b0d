import type { Condition, Kind, KubeObject } from "kube-controller-runtime";
import { eventually } from "kube-controller-runtime/testing";
import { expect } from "vitest";
import * as ourKinds from "../../../src/api/v1alpha1/kinds.ts";
import type { Stage } from "../../integration/control-plane/stage.ts";
import type { Manifest } from "../../support/helm.ts";

interface Reporting extends KubeObject {
  readonly status?: { readonly observedGeneration?: number; readonly conditions?: readonly Condition[] };
}

const kinds = Object.values(ourKinds) as readonly Kind<Reporting>[];

/** The conditions of an object, once the operator has looked at it. Objects of other kinds have none. */
export async function reported(
  { kind: name, metadata }: Manifest,
  stage: Stage,
): Promise<readonly Condition[]> {
  const kind = kinds.find((known) => known.kind === name);
  if (!kind) return [];
  return eventually(
    async () => {
      const { status, metadata: stored } = await stage.get(kind, metadata.name);
      expect(status?.observedGeneration).toBe(stored.generation);
      return status?.conditions ?? [];
    },
    { withinMs: 30_000 },
  );
}
