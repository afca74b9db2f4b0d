import { type Rule, text } from "./schema.ts";

/*
 * Patterns for names. They accept surrounding whitespace because existing manifests contain it and the
 * operator trims it. Only the patterns of optional names accept an empty name. Patterns have no cost at
 * admission, whereas a CEL rule on each item of an unbounded list would exceed the cost budget.
 */
const dnsLabel = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?";
const dnsSubdomain = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const dataKey = "[-._a-zA-Z0-9]+";

function exactly(pattern: string): string {
  return `^\\s*${pattern}\\s*$`;
}

function orEmpty(pattern: string): string {
  return `^\\s*(${pattern})?\\s*$`;
}

const nameLength = 253;

/** Name of a Secret, Gateway or control plane. Must not be empty. */
export function objectName(description: string) {
  return text(description, { minLength: 1, maxLength: nameLength, pattern: exactly(dnsSubdomain) });
}

/** Name of an object that the operator creates. Empty means the default name. */
export function childName(description: string) {
  return text(description, { maxLength: nameLength, pattern: orEmpty(dnsSubdomain) });
}

export function namespaceName(description: string) {
  return text(description, { minLength: 1, pattern: exactly(dnsLabel) });
}

/** A namespace in a list. Blank entries are ignored, for compatibility. */
export function listedNamespace(description: string) {
  return text(description, { pattern: orEmpty(dnsLabel) });
}

/** Key in the data of a Secret. Empty means the default key. */
export function secretDataKey(description: string, options: { default?: string } = {}) {
  return text(description, { maxLength: nameLength, pattern: orEmpty(dataKey), ...options });
}

export function requiredSecretDataKey(description: string) {
  return text(description, { minLength: 1, maxLength: nameLength, pattern: exactly(dataKey) });
}

const hostname = `(\\*\\.)?${dnsSubdomain}`;

export function host(description: string) {
  return text(description, { minLength: 1, maxLength: nameLength, pattern: exactly(hostname) });
}

export function optionalHost(description: string) {
  return text(description, { maxLength: nameLength, pattern: orEmpty(hostname) });
}

const urlLength = 2048;

function urlRule(condition: string): { maxLength: number; "x-kubernetes-validations": readonly Rule[] } {
  return {
    maxLength: urlLength,
    "x-kubernetes-validations": [
      { rule: condition, message: "must be an http or https URL, such as https://coder.example.com" },
      {
        rule: "!self.matches('^[^/?#]*//[^/?#]*@')",
        message:
          "must not contain a user name or password, which would be visible to everyone who can read this object",
      },
    ],
  };
}

const isHttpURL = "isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != ''";

export function httpURL(description: string) {
  return text(description, { minLength: 1, ...urlRule(isHttpURL) });
}

/** Empty means absent. */
export function optionalHttpURL(description: string) {
  return text(description, urlRule(`self == '' || (${isHttpURL})`));
}
