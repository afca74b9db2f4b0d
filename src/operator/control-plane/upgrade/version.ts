/** The numbers of a version, such as 2, 26 and 0. */
type Version = readonly [major: number, minor: number, patch: number];

/** A version as a tag or coderd writes it: `v2.26.0`, `2.26.0-rc.1`, `v2.26.0+abc`. */
function parseVersion(text: string | undefined): Version | undefined {
  const [, major, minor, patch] = /^v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?:[-+]|$)/.exec(text ?? "") ?? [];
  return patch === undefined ? undefined : [Number(major), Number(minor), Number(patch)];
}

/** The tag of an image. A digest beside it says which build it is, not which version. */
function tagOf(image: string): string | undefined {
  return /:([^/:]+)$/.exec(image.split("@", 1)[0] ?? "")?.[1];
}

/** The version that the tag of an image names; undefined where only a running pod can say. */
export function versionOfImage(image: string): string | undefined {
  const tag = tagOf(image);
  return parseVersion(tag) ? tag : undefined;
}

/** The version of an image by its tag, or else the one that coderd has reported for it. */
export function knownVersion(image: string, reported: string | undefined): string | undefined {
  return versionOfImage(image) ?? reported;
}

/** Whether a change from one image to the other is an upgrade: another version, or nobody can say. */
export function isAnotherVersion(from: string, to: string): boolean {
  if (from === to) return false;
  const [older, newer] = [versionOfImage(from), versionOfImage(to)];
  return older === undefined || newer === undefined || withoutV(older) !== withoutV(newer);
}

/**
 * Whether an image may be what became of another: the same, the same version, or the same name from another registry.
 * Admission may rewrite images to those of a mirror.
 */
export function isSameBuild(image: string, asked: string): boolean {
  return !isAnotherVersion(image, asked) || lastPart(image) === lastPart(asked);
}

function lastPart(image: string): string {
  return image.slice(image.lastIndexOf("/") + 1);
}

/** Negative when `left` is older than `right`; undefined unless both are versions. */
export function compareVersions(left: string | undefined, right: string | undefined): number | undefined {
  const [a, b] = [parseVersion(left), parseVersion(right)];
  if (!a || !b) return undefined;
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

function withoutV(version: string): string {
  return version.replace(/^v/, "");
}
