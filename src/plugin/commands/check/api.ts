import { CustomResourceDefinition, type Deployment, find, type Stored } from "kube-controller-runtime";
import type { Cluster } from "../../cluster.ts";
import type { Gaps } from "../../gaps.ts";
import { type Found, OUR_KINDS, typedName } from "../../objects.ts";
import { problemsOf } from "../../problems.ts";
import { VERSION_LABEL } from "./operator.ts";
import { type Finding, finding, some } from "./report.ts";

const GROUP = "coder.com";
/** A cleanup gives up after two minutes, so a deletion that takes longer is stuck. */
const STUCK_AFTER_MS = 5 * 60_000;

/** Volume types that Kubernetes has deprecated or removed. */
const DEPRECATED_VOLUMES: readonly string[] = [
  ...["awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "flexVolume", "flocker"],
  ...["gcePersistentDisk", "gitRepo", "glusterfs", "photonPersistentDisk", "portworxVolume", "quobyte"],
  ...["rbd", "scaleIO", "storageos", "vsphereVolume"],
];

/** Whether the CRDs exist, are served, and match the operator's version. */
export async function crdFinding(
  cluster: Cluster,
  operator: Stored<Deployment> | undefined,
  gaps: Gaps,
): Promise<Finding> {
  const what = "CRDs";
  const reading = Promise.all(
    OUR_KINDS.map(async ({ kind }) => {
      const name = `${kind.plural}.${GROUP}`;
      return { name, crd: await find(cluster.client, CustomResourceDefinition, { name }) };
    }),
  );
  const all = await gaps.read("get customresourcedefinitions", reading);
  if (!all) return finding(what, "unknown", "The CRDs could not be read.");
  const missing = all.filter(({ crd }) => !crd).map(({ name }) => name);
  if (missing.length > 0)
    return finding(what, "wrong", `${missing.join(", ")} missing: install the chart with crds.enabled=true.`);
  const wanted = operator?.metadata.labels?.[VERSION_LABEL];
  const versions = new Set(all.map(({ crd }) => crd?.metadata.labels?.[VERSION_LABEL]));
  const others = [...versions].filter((version) => version !== wanted);
  if (!operator || wanted === undefined || others.length === 0) {
    const shown = [...versions].filter((version) => version !== undefined).join(", ");
    return finding(what, "good", `All ${all.length} CRDs are installed${shown ? `, version ${shown}` : ""}.`);
  }
  const isUnknown = others.includes(undefined);
  const are = isUnknown ? "The CRDs have no version label" : `The CRDs are of version ${others.join(", ")}`;
  const message = `${are}; the operator is of version ${wanted}. Upgrade the chart with crds.enabled=true.`;
  return finding(what, isUnknown ? "note" : "wrong", message);
}

/** How many of the objects the user may list. */
export type Visibility = "all" | "some" | "none";

/** All custom resources that the user may list, and for how many of the kinds this holds. */
export async function ourObjects(
  { client }: Cluster,
  gaps: Gaps,
  namespace: string | undefined,
): Promise<{ readonly objects: readonly Found[]; readonly visibility: Visibility }> {
  const lists = await Promise.all(
    OUR_KINDS.map(async ({ kind }) =>
      (await gaps.list(client, kind, { namespace }))?.map((object) => ({ kind, object })),
    ),
  );
  const readable = lists.filter((each) => each !== undefined);
  const visibility = readable.length === 0 ? "none" : readable.length < lists.length ? "some" : "all";
  return { objects: readable.flat(), visibility };
}

/** A finding is good only if all objects could be read. */
export function limitedBy(found: Finding, visibility: Visibility): Finding {
  const { what, verdict, message } = found;
  if (verdict !== "good" || visibility === "all") return found;
  if (visibility === "none") return finding(what, "unknown", "The objects could not be read.");
  return finding(what, "note", `${message} Some objects could not be read.`);
}

/** Whether any object uses a deprecated feature. */
export function deprecationFinding(objects: readonly Found[]): Finding {
  const uses = objects.flatMap((found) => {
    const { volumes = [] } = (found.object.spec ?? {}) as { volumes?: readonly object[] };
    const kinds = volumes.flatMap((volume) =>
      Object.keys(volume).filter((name) => DEPRECATED_VOLUMES.includes(name)),
    );
    return kinds.map((kind) => `${placeOf(found)} has a volume of kind ${kind}`);
  });
  const what = "No deprecations";
  if (uses.length === 0) return finding(what, "good", "No object uses a deprecated field.");
  return finding(what, "note", `${some(uses)}: use a CSI driver.`);
}

/** Problems of the installation that the operator reports. */
export function complaintFinding(objects: readonly Found[]): Finding {
  const reasons = new Set(["SchemaOutdated", "GrantRefused", "Forbidden", "InternalError"]);
  const complaints = objects.flatMap((found) =>
    problemsOf(placeOf(found), found.object)
      .filter(({ reason }) => reasons.has(reason))
      .map(({ object, reason, message }) => `${object}: ${reason}: ${message}`),
  );
  const what = "No complaints";
  if (complaints.length === 0)
    return finding(what, "good", "No object reports a problem of the installation.");
  return finding(what, "wrong", some(complaints));
}

/** Deletions that hang, and deletions that would hang without the operator. */
export function finalizerFindings(objects: readonly Found[], now: number): Finding[] {
  const held = objects.filter(({ object }) =>
    object.metadata.finalizers?.some((name) => name.startsWith(`${GROUP}/`)),
  );
  const stuck = held.filter(({ object: { metadata } }) => {
    const since = Date.parse(metadata.deletionTimestamp ?? "");
    return now - since > STUCK_AFTER_MS;
  });
  const hangs = `The deletion of ${some(stuck.map(placeOf))} is stuck: check the operator's log.`;
  const wouldHang = `If the operator were uninstalled now, the deletion of ${held.length} objects would hang: ${some(held.map(placeOf))}. Delete them first.`;
  const ending = held.filter(({ object: { metadata } }) => metadata.deletionTimestamp !== undefined);
  const underWay = `The deletion of ${some(ending.map(placeOf))} is in progress; it counts as stuck after 5 minutes.`;
  return [
    stuck.length > 0
      ? finding("Finalizers", "wrong", hangs)
      : ending.length > 0
        ? finding("Finalizers", "note", underWay)
        : finding("Finalizers", "good", "No deletion is stuck."),
    held.length > 0
      ? finding("Uninstalling", "note", wouldHang)
      : finding("Uninstalling", "good", "Uninstalling the operator would leave no deletion stuck."),
  ];
}

function placeOf({ kind, object: { metadata } }: Found): string {
  return `${metadata.namespace}/${typedName(kind, metadata)}`;
}
