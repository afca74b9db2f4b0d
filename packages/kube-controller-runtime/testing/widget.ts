import type { Condition } from "../src/conditions.ts";
import { kind } from "../src/kinds.ts";
import type { KubeObject } from "../src/object.ts";

export interface WidgetStatus {
  phase?: string;
  url?: string;
  /** The key in use, and the one that is about to take its place. */
  key?: string;
  pendingKey?: { name: string; attempt?: string };
  observedGeneration?: number;
  conditions?: Condition[];
}

/** A kind of nobody's, for tests of what every kind has. */
export interface Widget extends KubeObject {
  spec?: { size?: number };
  status?: WidgetStatus;
}

export const Widget = kind<Widget>("example.com/v1", { kind: "Widget", plural: "widgets" });
