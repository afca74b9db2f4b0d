import { posix } from "node:path";
import type { ReleaseNames } from "../generate/release-names.ts";

/** Something that a release has in a registry. */
interface Reference {
  /** Without its tag, which is the version. */
  readonly name: string;
  readonly digest: string;
}

/** All that a release has in registries. */
export interface Published {
  readonly image: Reference;
  readonly chart: Reference;
}

/** Charts live beside images: under one name, chart and image would overwrite each other's tags. */
export function chartName({ image }: ReleaseNames): string {
  return `${posix.dirname(image)}/charts/coder-k8s`;
}
