import { posix } from "node:path";
import type { ReleaseNames } from "../generate/release-names.ts";

/** A part of a release in a registry. */
interface Reference {
  /** Without its tag, which is the version. */
  readonly name: string;
  readonly digest: string;
}

/** All parts of a release in registries. */
export interface Published {
  readonly image: Reference;
  readonly chart: Reference;
}

/** Charts have a separate name: with the same name, chart and image would overwrite each other's tags. */
export function chartName({ image }: ReleaseNames): string {
  return `${posix.dirname(image)}/charts/coder-k8s`;
}
