import type { Deployment } from "kube-controller-runtime";
import { readSecretValue } from "../secret-value.ts";
import type { Sources } from "../sources.ts";
import { type EnvFromKey, type EnvFromSource, type EnvVar, envFromKeys } from "./env.ts";

/** The pod settings that define environment variables. */
export interface PodEnvironment {
  readonly extraEnv: readonly EnvVar[];
  readonly envFrom: readonly EnvFromSource[];
}

/** Source of a variable's value: the manifest, or a key of another object. */
type Origin = { readonly kind: "literal"; readonly text: string } | EnvFromKey;

/** The value of a variable in the container, or why it has none. */
export type VariableValue =
  | { readonly kind: "value"; readonly value: string }
  | { readonly kind: "undefined" }
  /** Longer than any value that the operator needs, for example if variables repeat each other. */
  | { readonly kind: "tooLong" }
  | { readonly kind: "missing"; readonly source: EnvFromKey }
  /** A part of the value comes from a pod field, which differs between pods. */
  | { readonly kind: "unreadable"; readonly variable: string };

const MAX_LENGTH = 32 * 1024;

/** Maximum number of variables that the value of one can depend on. */
const MAX_VARIABLES = 256;

/** A part of a variable's text: literal text, or a reference to another variable. */
type Piece = { readonly text: string } | { readonly name: string };

/** Names of the Secrets or ConfigMaps that may affect a variable's value. */
export function variableSources(
  kind: EnvFromKey["kind"],
  variables: readonly string[],
  environment: PodEnvironment,
): string[] {
  const names = new Set<string>();
  const seen = new Set<string>();
  const visit = (variable: string) => {
    if (seen.has(variable) || seen.size >= MAX_VARIABLES) return;
    seen.add(variable);
    for (const origin of originsOf(variable, environment)) {
      if (origin.kind === "literal") for (const name of referencesIn(origin.text)) visit(name);
      else if (origin.kind === kind) names.add(origin.name);
    }
  };
  for (const variable of variables) visit(variable);
  return [...names];
}

/**
 * Resolves a variable like the kubelet: `env` takes precedence over `envFrom`, later sources over earlier
 * ones, and `$(NAME)` refers to another variable.
 */
export function variableValue(
  variable: string,
  environment: PodEnvironment,
  sources: Sources,
): VariableValue {
  const known = new Map<string, VariableValue>();
  const resolve = (name: string, seen: readonly string[]): VariableValue => {
    const before = known.get(name);
    if (before) return before;
    if (known.size >= MAX_VARIABLES) return { kind: "tooLong" };
    const value = find(name, seen);
    known.set(name, value);
    return value;
  };
  const find = (name: string, seen: readonly string[]): VariableValue => {
    const { valueFrom } = environment.extraEnv.findLast((variable) => variable.name === name) ?? {};
    const ref = valueFrom?.secretKeyRef ?? valueFrom?.configMapKeyRef;
    if (valueFrom && !ref) return { kind: "unreadable", variable: name };
    let missing: VariableValue = { kind: "undefined" };
    for (const origin of seen.includes(name) ? [] : originsOf(name, environment)) {
      if (origin.kind === "literal") return expand(origin.text, (other) => resolve(other, [...seen, name]));
      const value = valueAt(origin, sources);
      if (value !== undefined)
        return value.length > MAX_LENGTH ? { kind: "tooLong" } : { kind: "value", value };
      if (ref && !ref.optional) missing = { kind: "missing", source: origin };
    }
    return missing;
  };
  return resolve(variable, []);
}

/**
 * The variables that the user defines, from any source. While a source that may define one is missing, its
 * pods cannot start and this is unknown; in this case, returns the result for `deployment`.
 */
export function definedVariables(
  variables: readonly string[],
  environment: PodEnvironment,
  observed: { readonly sources: Sources; readonly deployment: Deployment | undefined },
): Set<string> {
  const isUsers = (variable: string) => {
    const { kind } = variableValue(variable, environment, observed.sources);
    return (kind !== "undefined" && kind !== "missing") || isLeftOpen(variable, environment, observed);
  };
  return new Set(variables.filter(isUsers));
}

/** Whether a required source is missing, and the Deployment does not set the variable. */
function isLeftOpen(
  variable: string,
  { extraEnv, envFrom }: PodEnvironment,
  { sources, deployment }: { readonly sources: Sources; readonly deployment: Deployment | undefined },
): boolean {
  const [container] = deployment?.spec?.template.spec?.containers ?? [];
  const isSet = (env: readonly EnvVar[]) => env.some(({ name }) => name === variable);
  if (!container || isSet(container.env ?? []) || isSet(extraEnv)) return false;
  const required = envFrom.filter(({ secretRef, configMapRef }) => !(secretRef ?? configMapRef)?.optional);
  return envFromKeys(variable, required).some((source) => !sourceOf(source, sources));
}

/** Sources that define a variable, in order of precedence. */
function originsOf(variable: string, { extraEnv, envFrom }: PodEnvironment): Origin[] {
  const explicit = extraEnv.findLast(({ name }) => name === variable);
  if (!explicit) return envFromKeys(variable, envFrom);
  const { secretKeyRef, configMapKeyRef } = explicit.valueFrom ?? {};
  if (secretKeyRef?.name) return [{ kind: "Secret", name: secretKeyRef.name, key: secretKeyRef.key }];
  if (configMapKeyRef?.name)
    return [{ kind: "ConfigMap", name: configMapKeyRef.name, key: configMapKeyRef.key }];
  return explicit.valueFrom ? [] : [{ kind: "literal", text: explicit.value ?? "" }];
}

/** The key of another object that contains the whole value of a variable, if any. */
export function variableKey(
  variable: string,
  environment: PodEnvironment,
  sources: Sources,
): EnvFromKey | undefined {
  const origins = originsOf(variable, environment);
  const used = origins.find((origin) => origin.kind === "literal" || valueAt(origin, sources) !== undefined);
  return used?.kind === "literal" ? undefined : used;
}

function referencesIn(text: string): string[] {
  return piecesOf(text).flatMap((piece) => ("name" in piece ? [piece.name] : []));
}

/**
 * Parses a text from left to right, reading each position once. `$$` is a dollar sign; an unterminated `$(`
 * is text.
 */
function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (let at = text.indexOf("$"); at >= 0; at = text.indexOf("$", Math.max(at + 1, from))) {
    const next = text[at + 1];
    const end = next === "(" ? text.indexOf(")", at) : -1;
    if (next === "(" && end < 0) break;
    if (next !== "$" && end <= at + 2) continue;
    pieces.push({ text: text.slice(from, at) });
    pieces.push(next === "$" ? { text: "$" } : { name: text.slice(at + 2, end) });
    from = next === "$" ? at + 2 : end + 1;
  }
  pieces.push({ text: text.slice(from) });
  return pieces;
}

/** Keeps references to unknown variables, like the kubelet. */
function expand(text: string, resolve: (name: string) => VariableValue): VariableValue {
  const parts: string[] = [];
  let length = 0;
  for (const piece of piecesOf(text)) {
    const found = "name" in piece ? resolve(piece.name) : { kind: "value" as const, value: piece.text };
    if (found.kind !== "value" && found.kind !== "undefined") return found;
    const part = found.kind === "value" ? found.value : `$(${"name" in piece ? piece.name : ""})`;
    length += part.length;
    if (length > MAX_LENGTH) return { kind: "tooLong" };
    parts.push(part);
  }
  return { kind: "value", value: parts.join("") };
}

function valueAt(source: EnvFromKey, sources: Sources): string | undefined {
  return source.kind === "ConfigMap"
    ? sources.configMap(source.name)?.data?.[source.key]
    : readSecretValue(sources.secret(source.name), source.key);
}

function sourceOf({ kind, name }: EnvFromKey, sources: Sources) {
  return kind === "ConfigMap" ? sources.configMap(name) : sources.secret(name);
}
