import { gunzipSync } from "node:zlib";
import { isObject, type Json, type JsonObject, propertyOf, withoutNulls } from "./json.ts";
import { withValues } from "./values.ts";

/** Coder's chart that a release uses. */
export type ChartName = "coder" | "provisioner";

/** The relevant data of a Helm release. */
export interface Release {
  readonly name: string;
  readonly namespace: string;
  readonly chart: ChartName;
  /** The version of the chart; absent if only a values file is known. */
  readonly version: string | undefined;
  /** The image's default tag without its `v`; absent if only a values file is known. */
  readonly appVersion: string | undefined;
  /** The chart's defaults merged with the user's values. */
  readonly values: JsonObject;
  /** The user's values only. */
  readonly given: JsonObject;
}

/** The release is not of one of Coder's charts, or can't be read. The message never quotes its contents. */
export class ReleaseError extends Error {
  override readonly name = "ReleaseError";
}

/** A Secret is limited to 1 MiB; an unpacked release of Coder's charts takes about 100 KiB. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Decodes the data of a Secret of type `helm.sh/release.v1`, as the API server returns it. */
export function decodeRelease(data: string): Release {
  const release = unpackRelease(data);
  const metadata = propertyOf(propertyOf(release, "chart"), "metadata");
  const defaults = objectOf(propertyOf(propertyOf(release, "chart"), "values"));
  const given = objectOf(propertyOf(release, "config"));
  return {
    name: textOf(release, "name") ?? "",
    namespace: textOf(release, "namespace") ?? "",
    chart: chartNamed(textOf(metadata, "name")),
    version: textOf(metadata, "version"),
    appVersion: textOf(metadata, "appVersion"),
    values: withValues(defaults, given),
    given: withoutNulls(given) as JsonObject,
  };
}

/** The decoded release of any chart. */
export function unpackRelease(data: string): Json {
  return parsed(unpacked(Buffer.from(Buffer.from(data, "base64").toString("latin1"), "base64")));
}

function unpacked(packed: Buffer): string {
  const isCompressed = packed[0] === 0x1f && packed[1] === 0x8b;
  try {
    return isCompressed
      ? gunzipSync(packed, { maxOutputLength: MAX_BYTES }).toString()
      : packed.toString("utf8");
  } catch (cause) {
    throw new ReleaseError("the release can't be unpacked: it is damaged, or larger than 16 MiB", { cause });
  }
}

/** The parser's own message would quote the text. */
function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    throw new ReleaseError(
      "the release is not valid JSON: it is damaged, or written by an incompatible version of Helm",
    );
  }
}

function chartNamed(name: string | undefined): ChartName {
  if (name === "coder") return "coder";
  if (name === "coder-provisioner") return "provisioner";
  const other = JSON.stringify((name ?? "").slice(0, 100));
  throw new ReleaseError(`the release is of the chart ${other}, not of "coder" or "coder-provisioner"`);
}

function textOf(value: Json, name: string): string | undefined {
  const text = propertyOf(value, name);
  return typeof text === "string" && text !== "" ? text : undefined;
}

const objectOf = (value: Json): JsonObject => (isObject(value) ? value : {});
