import { isPaused } from "../../operator/pause.ts";
import { type Found, typedName } from "../objects.ts";
import type { Look } from "../terminal/look.ts";
import { type Line, span } from "../terminal/text.ts";

/** What a command that writes has done. */
export interface Written {
  /** `kind/name`. */
  readonly object: string;
  /** As kubectl says it: "paused", "restarted". */
  readonly did: string;
  /** False when it was so before. */
  readonly changed: boolean;
  /** What happens next, or how to follow it. */
  readonly next?: string;
}

/** What comes next for an object: nothing while it is paused. */
export function nextFor({ kind, object }: Found, next: string): string {
  const { namespace } = object.metadata;
  if (!isPaused(object)) return next;
  return `It is paused: this happens after kubectl coder resume ${typedName(kind, object.metadata)} -n ${namespace}`;
}

export function writtenLines({ object, did, changed, next }: Written, _look: Look): Line[] {
  return [
    [span(object, "bold"), span(changed ? ` ${did}` : ` was ${did} already`)],
    ...(next ? [[span(next, "dim")]] : []),
  ];
}
