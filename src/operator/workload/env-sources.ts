import type { Deployment } from "kube-controller-runtime";
import { readSecretValue } from "../secret-value.ts";
import type { Sources } from "../sources.ts";
import { type EnvFromKey, type EnvFromSource, type EnvVar, envFromKeys } from "./env.ts";

/** The part of a pod's settings that gives its variables their values. */
export interface PodEnvironment {
  readonly extraEnv: readonly EnvVar[];
  readonly envFrom: readonly EnvFromSource[];
}

/** A place that a variable's value comes from: written in the manifest, or a key of another object. */
type Origin = { readonly kind: "literal"; readonly text: string } | EnvFromKey;

/** The value of a variable as the container would see it, or why it has none. */
export type VariableValue =
  | { readonly kind: "value"; readonly value: string }
  | { readonly kind: "undefined" }
  /** Longer than anything that the operator reads, as when variables double each other. */
  | { readonly kind: "tooLong" }
  | { readonly kind: "missing"; readonly source: EnvFromKey }
  /** It takes part in the value and comes from a field of the pod, which differs from pod to pod. */
  | { readonly kind: "unreadable"; readonly variable: string };

const MAX_LENGTH = 32 * 1024;

/** As many variables as may take part in the value of one. */
const MAX_VARIABLES = 256;

/** A piece of a variable's text: as it is written, or the name of the variable that it stands for. */
type Piece = { readonly text: string } | { readonly name: string };

/** The names of the Secrets or ConfigMaps that may take part in a variable's value. */
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
 * Finds the value of a variable the way the kubelet does: `env` beats `envFrom`, a later source beats an
 * earlier one, and `$(NAME)` stands for another variable.
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
 * Those of the variables that the user defines, wherever their values come from. While a source is missing that
 * may define one, its pods can't start, and nobody knows: then the answer is what it was for `deployment`.
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

/** Whether a source that the pods can't do without is missing, and the Deployment leaves the variable to it. */
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

/** Where a variable is defined, the place that wins first. */
function originsOf(variable: string, { extraEnv, envFrom }: PodEnvironment): Origin[] {
  const explicit = extraEnv.findLast(({ name }) => name === variable);
  if (!explicit) return envFromKeys(variable, envFrom);
  const { secretKeyRef, configMapKeyRef } = explicit.valueFrom ?? {};
  if (secretKeyRef?.name) return [{ kind: "Secret", name: secretKeyRef.name, key: secretKeyRef.key }];
  if (configMapKeyRef?.name)
    return [{ kind: "ConfigMap", name: configMapKeyRef.name, key: configMapKeyRef.key }];
  return explicit.valueFrom ? [] : [{ kind: "literal", text: explicit.value ?? "" }];
}

/** The key of another object that a variable has its whole value from, if it has it from there. */
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

/** Takes a text apart from the left, each place looked at once. `$$` is a dollar; `$(` without an end is text. */
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

/** Like the kubelet, leaves a reference to an unknown variable as it is. */
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
