import { isPaused } from "../../operator/pause.ts";
import { type Answer, answer } from "../command.ts";
import { completeObjects, type Found, typedName } from "../objects.ts";
import { type Line, span } from "../terminal/text.ts";

/** The result of a command that writes. */
interface Written {
  /** `kind/name`. */
  readonly object: string;
  /** As kubectl prints it: "paused", "restarted". */
  readonly did: string;
  /** False if the object already had this state. */
  readonly changed: boolean;
  /** What happens next, or how to follow it. */
  readonly next?: string;
}

/** What happens next for an object. A paused object must be resumed first. */
export function nextFor({ kind, object }: Found, next: string): string {
  const { namespace } = object.metadata;
  if (!isPaused(object)) return next;
  return `It is paused: this happens after kubectl coder resume ${typedName(kind, object.metadata)} -n ${namespace}`;
}

/** The argument that names the object to change. */
export const objectArgument = {
  name: "object",
  summary: "kind/name, such as provisioner/linux, or a name that is unique among the kinds",
  complete: completeObjects(),
};

/** The answer of a command that wrote an object. */
export function written(data: Written): Answer {
  return answer(data, writtenLines);
}

function writtenLines({ object, did, changed, next }: Written): Line[] {
  return [
    [span(object, "bold"), span(changed ? ` ${did}` : ` was ${did} already`)],
    ...(next ? [[span(next, "dim")]] : []),
  ];
}
