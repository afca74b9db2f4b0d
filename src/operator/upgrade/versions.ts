interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  /** What it is called that comes before that version, such as `rc.1`; empty for the version itself. */
  readonly before: string;
}

/** Anything else behind a version, such as `-alpine`, names a variant of it. */
const VERSION = /^v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?:-((?:rc|beta|alpha|dev)[^+]*)|[-+]|$)/;

/** A version as a tag or coderd writes it: `v2.26.0`, `2.26.0-rc.1`, `v2.26.0+abc`. */
function parseVersion(text: string | undefined): Version | undefined {
  const [, major, minor, patch, before = ""] = VERSION.exec(text ?? "") ?? [];
  if (patch === undefined) return undefined;
  return { major: Number(major), minor: Number(minor), patch: Number(patch), before };
}

/**
 * The version that the tag of an image names; undefined where only a running pod can say. A digest beside the tag says
 * which build it is, not which version.
 */
export function versionOfImage(image: string): string | undefined {
  const tag = /:([^/:]+)$/.exec(image.split("@", 1)[0] ?? "")?.[1];
  return parseVersion(tag) ? tag : undefined;
}

/** As much of a program's output as is searched. */
const MAX_OUTPUT = 512;

/** The first version in what `coder version` prints. */
export function versionIn(output: string): string | undefined {
  const words = output.slice(0, MAX_OUTPUT).split(/\s+/);
  return words.find((word) => parseVersion(word) !== undefined);
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

/** What runs: its image, and the version that coderd has reported for it. */
interface Running {
  readonly image: string;
  readonly version: string | undefined;
}

/** Whether an image names the version that runs. Where the image that runs names none, what coderd reports counts. */
export function isRunning(wanted: string, { image, version }: Running): boolean {
  const isReported = compareVersions(versionOfImage(wanted), knownVersion(image, version)) === 0;
  return isReported || !isAnotherVersion(image, wanted);
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
  return (
    a.major - b.major || a.minor - b.minor || a.patch - b.patch || comparePrereleases(a.before, b.before)
  );
}

/** The minor versions that an upgrade passes over. */
interface SkippedMinors {
  readonly first: string;
  readonly last: string;
  readonly number: number;
}

/** The minor versions between two versions; undefined where there is none, or where it cannot be known. */
export function skippedMinors(from: string | undefined, to: string | undefined): SkippedMinors | undefined {
  const [a, b] = [parseVersion(from), parseVersion(to)];
  if (!a || !b || a.major !== b.major || b.minor - a.minor < 2) return undefined;
  const name = (minor: number) => `${a.major}.${minor}`;
  return { first: name(a.minor + 1), last: name(b.minor - 1), number: b.minor - a.minor - 1 };
}

/** What comes before a version is older than it: 2.26.0-rc.2 than 2.26.0-rc.10, and that than 2.26.0. */
function comparePrereleases(left: string, right: string): number {
  if (!left || !right) return Number(Boolean(right)) - Number(Boolean(left));
  return left.localeCompare(right, "en", { numeric: true });
}

function withoutV(version: string): string {
  return version.replace(/^v/, "");
}
