type Labels = Readonly<Record<string, string | undefined>>;

const REQUIREMENTS: readonly [RegExp, (match: readonly string[], labels: Labels) => boolean][] = [
  [/^(\S+)\s+notin\s+\((.*)\)$/, ([, key = "", values = ""], labels) => !isOneOf(labels[key], values)],
  [/^(\S+)\s+in\s+\((.*)\)$/, ([, key = "", values = ""], labels) => isOneOf(labels[key], values)],
  [/^([^!=\s]+)\s*!=\s*(\S*)$/, ([, key = "", value], labels) => labels[key] !== value],
  [/^([^!=\s]+)\s*==?\s*(\S*)$/, ([, key = "", value], labels) => labels[key] === value],
  [/^!(\S+)$/, ([, key = ""], labels) => labels[key] === undefined],
  [/^(\S+)$/, ([, key = ""], labels) => labels[key] !== undefined],
];

/**
 * Parses a label selector in all forms that the API server supports, including set-based ones. Throws if it
 * is not valid.
 */
export function labelSelector(text: string): (labels: Labels) => boolean {
  // A comma inside parentheses separates values, not requirements.
  const requirements = text.split(/,(?![^(]*\))/).map((part) => requirement(part.trim()));
  return (labels) => requirements.every((holds) => holds(labels));
}

function requirement(text: string): (labels: Labels) => boolean {
  for (const [pattern, holds] of REQUIREMENTS) {
    const match = pattern.exec(text);
    if (match) return (labels) => holds(match, labels);
  }
  throw new TypeError(`unable to parse requirement: ${text}`);
}

function isOneOf(value: string | undefined, values: string): boolean {
  return values.split(",").some((each) => each.trim() === (value ?? ""));
}
