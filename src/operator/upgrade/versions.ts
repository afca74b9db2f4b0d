interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  /** Prerelease, such as `rc.1`. Empty for a release. */
  readonly before: string;
}

/** Any other suffix, such as `-alpine`, is a variant of the version. */
const VERSION = /^v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?:-((?:rc|beta|alpha|dev)[^+]*)|[-+]|$)/;

/** Parses a version from a tag or from coderd: `v2.26.0`, `2.26.0-rc.1`, `v2.26.0+abc`. */
function parseVersion(text: string | undefined): Version | undefined {
  const [, major, minor, patch, before = ""] = VERSION.exec(text ?? "") ?? [];
  if (patch === undefined) return undefined;
  return { major: Number(major), minor: Number(minor), patch: Number(patch), before };
}

/**
 * Returns the version in the tag of an image, or undefined if only a running pod can tell. A digest
 * identifies the build, not the version.
 */
export function versionOfImage(image: string): string | undefined {
  const tag = /:([^/:]+)$/.exec(image.split("@", 1)[0] ?? "")?.[1];
  return parseVersion(tag) ? tag : undefined;
}

/** Maximum length of the output to search. */
const MAX_OUTPUT = 512;

/** Returns the first version in the output of `coder version`. */
export function versionIn(output: string): string | undefined {
  const words = output.slice(0, MAX_OUTPUT).split(/\s+/);
  return words.find((word) => parseVersion(word) !== undefined);
}

/** Returns the version in the tag of an image, otherwise the version that coderd reported for it. */
export function knownVersion(image: string, reported: string | undefined): string | undefined {
  return versionOfImage(image) ?? reported;
}

/** Whether a change of the image is an upgrade: the version differs or is unknown. */
export function isAnotherVersion(from: string, to: string): boolean {
  if (from === to) return false;
  const [older, newer] = [versionOfImage(from), versionOfImage(to)];
  return older === undefined || newer === undefined || withoutV(older) !== withoutV(newer);
}

/** The running image and the version that coderd reported for it. */
interface Running {
  readonly image: string;
  readonly version: string | undefined;
}

/**
 * Whether an image has the running version. If the tag of the running image has no version, the reported
 * version counts.
 */
export function isRunning(wanted: string, { image, version }: Running): boolean {
  const isReported = compareVersions(versionOfImage(wanted), knownVersion(image, version)) === 0;
  return isReported || !isAnotherVersion(image, wanted);
}

/**
 * Whether an image can be the rewritten form of another: the same image, the same version, or the same name
 * from a different registry, because admission may rewrite images to a mirror.
 */
export function isSameBuild(image: string, asked: string): boolean {
  return !isAnotherVersion(image, asked) || lastPart(image) === lastPart(asked);
}

function lastPart(image: string): string {
  return image.slice(image.lastIndexOf("/") + 1);
}

/** Negative if `left` is older than `right`. Undefined unless both are versions. */
export function compareVersions(left: string | undefined, right: string | undefined): number | undefined {
  const [a, b] = [parseVersion(left), parseVersion(right)];
  if (!a || !b) return undefined;
  return (
    a.major - b.major || a.minor - b.minor || a.patch - b.patch || comparePrereleases(a.before, b.before)
  );
}

/** The minor versions that an upgrade skips. */
interface SkippedMinors {
  readonly first: string;
  readonly last: string;
  readonly number: number;
}

/** Returns the minor versions between two versions, or undefined if there are none or if this is unknown. */
export function skippedMinors(from: string | undefined, to: string | undefined): SkippedMinors | undefined {
  const [a, b] = [parseVersion(from), parseVersion(to)];
  if (!a || !b || a.major !== b.major || b.minor - a.minor < 2) return undefined;
  const name = (minor: number) => `${a.major}.${minor}`;
  return { first: name(a.minor + 1), last: name(b.minor - 1), number: b.minor - a.minor - 1 };
}

/** Prereleases are older than their release: 2.26.0-rc.2 < 2.26.0-rc.10 < 2.26.0. */
function comparePrereleases(left: string, right: string): number {
  if (!left || !right) return Number(Boolean(right)) - Number(Boolean(left));
  return left.localeCompare(right, "en", { numeric: true });
}

function withoutV(version: string): string {
  return version.replace(/^v/, "");
}
