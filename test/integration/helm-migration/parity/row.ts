/** Objects as a chart renders them, or as our builders make them. */
export type Objects = readonly { readonly kind?: string; readonly [field: string]: unknown }[];

/** What a value of a chart becomes here, and how that shows. */
export interface Row {
  /** The path of the value, or of all values below it. */
  readonly value: string;
  /** The field of ours, below `spec`. */
  readonly field?: string;
  /** An example for the chart, in `coder` unless it has other keys at the top, and the same in our words. */
  readonly chart?: object;
  readonly ours?: object;
  /** Where it shows, as `Deployment spec.replicas`, or as `HTTPRoute.1 spec` of the second one; several, if both sides must agree on all. */
  readonly shows?: readonly string[];
  /** Why there is no field, or why the objects differ. */
  readonly because?: string;
  /** What else there is to know about an equal row. */
  readonly note?: string;
}

const container = "Deployment spec.template.spec.containers.0";
const podSpec = "Deployment spec.template.spec";

/** A value that has the same name and meaning here and shows in the container. */
export function inContainer(name: string, example: unknown, field = name): Row {
  const ours = { [field]: example };
  return { value: `coder.${name}`, field, chart: { [name]: example }, ours, shows: [`${container}.${name}`] };
}

/** The same, for the pod. */
export function inPod(name: string, example: unknown, target = name): Row {
  const both = { [name]: example };
  return { value: `coder.${name}`, field: name, chart: both, ours: both, shows: [`${podSpec}.${target}`] };
}

/** A variable that shows by its name. */
export const variable = (name: string) => `${container}.env[${name}]`;

/** Where a place of objects is, with everything that says nothing left out. */
export function look(objects: Objects, place: string): unknown {
  const [which = "", path = ""] = place.split(" ");
  const [kind, index = 0] = which.split(".");
  const found: unknown = objects.filter((object) => object.kind === kind)[Number(index)];
  if (path === "") return found !== undefined;
  const steps = path.split(/\.(?![^[]*\])/).flatMap(partsOf);
  return meaning(steps.reduce(step, found));
}

/** `env[NAME]` is the field, and then the item of that name. */
function partsOf(text: string): string[] {
  const [, field = text, item] = /^(\w+)\[(.+)\]$/.exec(text) ?? [];
  return item ? [field, item] : [field];
}

function step(value: unknown, name: string): unknown {
  if (Array.isArray(value)) {
    if (/^-?\d+$/.test(name)) return value.at(Number(name));
    return value.find((item) => item?.name === name || item?.resources?.includes(name));
  }
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function meaning(value: unknown): unknown {
  if (Array.isArray(value)) return value.length > 0 ? value.map(meaning) : undefined;
  if (typeof value !== "object" || value === null) return value ?? undefined;
  const fields = Object.entries(value)
    .map(([name, field]) => [name, meaning(field)] as const)
    .filter(([, field]) => field !== undefined);
  return fields.length > 0 ? Object.fromEntries(fields.sort(([a], [b]) => (a < b ? -1 : 1))) : undefined;
}
