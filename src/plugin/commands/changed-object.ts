import { isPaused } from "../../operator/pause.ts";
import { type Answer, answer } from "../command.ts";
import { completeObjects, type Found, typedName } from "../objects.ts";
import { type Line, span } from "../terminal/text.ts";

/** What a command that writes has done. */
interface Written {
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

/** The object that a command changes, as an argument of it. */
export const objectArgument = {
  name: "object",
  summary: "kind/name, as provisioner/linux, or a name that only one of our kinds has",
  complete: completeObjects(),
};

/** That a command has written what it was asked to. */
export function written(data: Written): Answer {
  return answer(data, writtenLines);
}

function writtenLines({ object, did, changed, next }: Written): Line[] {
  return [
    [span(object, "bold"), span(changed ? ` ${did}` : ` was ${did} already`)],
    ...(next ? [[span(next, "dim")]] : []),
  ];
}
