import { type Deployment, fingerprint } from "kube-controller-runtime";
import { certificateBlocks } from "../../coder/certificates.ts";
import { readSecretValue } from "../secret-value.ts";
import type { SourceNames, Sources } from "../sources.ts";
import { type PodReference, podReferences } from "./pod-references.ts";
import { isStalled } from "./replace-stuck.ts";
import type { PodSettings } from "./settings.ts";

/*
 * Pods read certificates and environment variables when they start. The Deployment records these inputs in an
 * annotation. When they change, an annotation of the pod template changes, which replaces the pods. Without a
 * record, nothing is rolled out: neither by a new version of the operator nor by a change of `restartOn`.
 *
 * Users who can read Deployments must not learn anything about Secrets. Therefore, the record is a hash of
 * certificates, which are public, and the resource versions of everything else.
 */

const SEEN_ANNOTATION = "coder.com/restart-seen";
const RESTART_ANNOTATION = "coder.com/restarted-for";

type Scope = Exclude<NonNullable<PodSettings["restartOn"]>, "None">;

/** Inputs of pods that start now. `unknown` if a required object is missing, so that no pod can start. */
export type PodInputs =
  | { readonly kind: "none" | "unknown" }
  | { readonly kind: "known"; readonly scope: Scope; readonly text: string };

/** Objects whose changes may restart the pods. While pods fail, all objects that they read. */
export function restartSources(
  pod: PodSettings,
  object: Parameters<typeof isStalled>[0] = {},
): Required<Omit<SourceNames, "tokens">> {
  const scope = scopeOf(pod);
  const references = scope === "All" || isStalled(object) ? podReferences(pod) : [];
  const named = (kind: PodReference["kind"]) =>
    references.filter((reference) => reference.kind === kind).map(({ name }) => name);
  const certificates = scope === "Certificates" ? certificateKeys(pod).map(({ name }) => name) : [];
  return { secrets: [...certificates, ...named("Secret")], configMaps: named("ConfigMap") };
}

export function podInputs(pod: PodSettings, sources: Sources): PodInputs {
  const scope = scopeOf(pod);
  const parts = scope === "All" ? versions(pod, sources) : scope ? certificates(pod, sources) : [];
  if (!scope || parts?.length === 0) return { kind: "none" };
  return parts ? { kind: "known", scope, text: `${scope}-${fingerprint(parts)}` } : { kind: "unknown" };
}

function scopeOf({ restartOn = "Certificates" }: PodSettings): Scope | undefined {
  return restartOn === "None" ? undefined : restartOn;
}

function certificateKeys({ tlsSecretNames, authorities }: PodSettings) {
  return [...tlsSecretNames.map((name) => ({ name, key: "tls.crt" })), ...authorities];
}

/**
 * A new private key always comes with a new certificate, so the certificates suffice. Undefined while one is
 * missing.
 */
function certificates(pod: PodSettings, sources: Sources): string[] | undefined {
  const found = certificateKeys(pod).map(({ name, key }) => {
    const blocks = certificateBlocks(readSecretValue(sources.secret(name), key) ?? "");
    return blocks.length > 0 ? [`${name}/${key}`, ...blocks].join("\n") : undefined;
  });
  return found.every((text) => text !== undefined) ? found : undefined;
}

function versions(pod: PodSettings, sources: Sources): string[] | undefined {
  const found = podReferences(pod).map(({ kind, name, optional }) => {
    const object = kind === "Secret" ? sources.secret(name) : sources.configMap(name);
    if (!object && !optional) return undefined;
    return `${kind}/${name}@${object?.metadata?.resourceVersion ?? "absent"}`;
  });
  return found.every((text) => text !== undefined) ? found : undefined;
}

/** The Deployment with the record of its pods' inputs, and whether a change restarts them. */
export function remembering(
  desired: Deployment,
  present: Deployment | undefined,
  inputs: PodInputs,
): { readonly deployment: Deployment; readonly restarts: boolean } {
  const seenBefore = present?.metadata?.annotations?.[SEEN_ANNOTATION];
  const markBefore = present?.spec?.template.metadata?.annotations?.[RESTART_ANNOTATION];
  const restarts = inputs.kind === "known" && isChange(seenBefore, inputs);
  const seen = inputs.kind === "known" ? inputs.text : inputs.kind === "unknown" ? seenBefore : undefined;
  const mark = restarts ? seen : markBefore;
  const { spec } = desired;
  const template = spec && annotated(spec.template, RESTART_ANNOTATION, mark);
  const marked = template ? { ...desired, spec: { ...spec, template } } : desired;
  return { deployment: annotated(marked, SEEN_ANNOTATION, seen), restarts };
}

/** A different scope has a different record, so it does not count as a change. */
function isChange(seen: string | undefined, { scope, text }: { scope: Scope; text: string }): boolean {
  return (seen?.startsWith(`${scope}-`) ?? false) && seen !== text;
}

/** The object with an additional annotation, or unchanged if the value is undefined. */
function annotated<T extends Pick<Deployment, "metadata">>(object: T, name: string, value?: string): T {
  if (value === undefined) return object;
  const { metadata } = object;
  return { ...object, metadata: { ...metadata, annotations: { ...metadata?.annotations, [name]: value } } };
}
