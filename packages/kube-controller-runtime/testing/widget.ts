import type { Condition } from "../src/conditions.ts";
import { kind } from "../src/kinds.ts";
import type { KubeObject } from "../src/object.ts";

export interface WidgetStatus {
  phase?: string;
  url?: string;
  /** The current key, and its successor. */
  key?: string;
  pendingKey?: { name: string; attempt?: string };
  observedGeneration?: number;
  conditions?: Condition[];
}

/** An example kind, for tests of features that all kinds have. */
export interface Widget extends KubeObject {
  spec?: { size?: number };
  status?: WidgetStatus;
}

export const Widget = kind<Widget>("example.com/v1", { kind: "Widget", plural: "widgets" });
