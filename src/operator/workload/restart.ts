import { type Deployment, fingerprint } from "kube-controller-runtime";
import { certificateBlocks } from "../../coder/certificates.ts";
import { readSecretValue } from "../secret-value.ts";
import type { SourceNames, Sources } from "../sources.ts";
import { type PodReference, podReferences } from "./pod-references.ts";
import { isStalled } from "./replace-stuck.ts";
import type { PodSettings } from "./settings.ts";

/*
 * Pods read certificates and environment when they start. What they read is remembered on the Deployment, and only when
 * it changes the pod template gets a mark, which replaces the pods. So a Deployment that has no mark is not rolled out
 * because of that: not by a new operator, and not by another `restartOn`.
 *
 * Whoever may read Deployments must learn nothing about Secrets. So the memory of certificates is a hash of nothing but
 * certificates, which are public, and that of everything else is made of versions, not of contents.
 */

const SEEN_ANNOTATION = "coder.com/restart-seen";
const RESTART_ANNOTATION = "coder.com/restarted-for";

type Scope = Exclude<NonNullable<PodSettings["restartOn"]>, "None">;

/** What pods that start now would read. `unknown`: something is missing, without which none can start. */
export type PodInputs =
  | { readonly kind: "none" | "unknown" }
  | { readonly kind: "known"; readonly scope: Scope; readonly text: string };

/** The objects whose change may restart the pods: all that they read while they fail. */
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

/** A new key comes with a new certificate, so certificates say it all. Absent while one is missing. */
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

/** The Deployment with the memory of what its pods read, and whether they are replaced because that has changed. */
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

/** Another scope has another memory: what was not looked at before has not changed. */
function isChange(seen: string | undefined, { scope, text }: { scope: Scope; text: string }): boolean {
  return (seen?.startsWith(`${scope}-`) ?? false) && seen !== text;
}

/** The object with one more annotation, or as it is when that has no value. */
function annotated<T extends Pick<Deployment, "metadata">>(object: T, name: string, value?: string): T {
  if (value === undefined) return object;
  const { metadata } = object;
  return { ...object, metadata: { ...metadata, annotations: { ...metadata?.annotations, [name]: value } } };
}
