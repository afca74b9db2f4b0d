import {
  type Condition,
  findCondition,
  type Pod,
  type StepResult,
  type WithStatus,
} from "kube-controller-runtime";
import { UNPINNED, workloadConditions } from "../../conditions.ts";

/** Whether the tag can change in the registry by convention: no tag or `latest`, without a digest. */
export function isMovingTag(image: string): boolean {
  if (image.includes("@")) return false;
  const [, tag = "latest"] = /:([^/:]+)$/.exec(image) ?? [];
  return tag === "latest";
}

/** Warns of an image for which new pods may pull a different version. Otherwise, the condition is absent. */
export function reportImage(
  image: string | undefined,
  object: WithStatus<{ conditions?: Condition[] }>,
): StepResult<object> {
  if (!image || !isMovingTag(image))
    return findCondition(object.status?.conditions, workloadConditions.image.type)
      ? { noCondition: true }
      : {};
  const message = `Image "${image}" has a tag that can change in the registry, so a pod that moves to another node may run a different version; set a version tag or a digest in spec.image. status.images lists the running images.`;
  return { condition: { status: "False", reason: UNPINNED, message } };
}

/** The distinct running images with the digests that the nodes report. */
export function runningImages(pods: readonly Pod[], container: string): string[] | undefined {
  const images = pods
    .flatMap(({ status }) => status?.containerStatuses ?? [])
    .filter(({ name, imageID }) => name === container && imageID)
    .map(({ imageID }) => imageID);
  return images.length > 0 ? [...new Set(images)].sort() : undefined;
}
