import { dirname, resolve } from "node:path";
import { KubeconfigError } from "../kubeconfig-error.ts";
import { Fields } from "./fields.ts";
import { readSmallFile } from "./read-file.ts";

/** An entry of a list in a kubeconfig, and the folder that its paths are relative to. */
export interface Entry {
  readonly fields: Fields;
  readonly folder: string;
}

/** One kubeconfig file, with entries by name. */
export interface KubeconfigFile {
  readonly path: string;
  readonly currentContext: string | undefined;
  readonly clusters: ReadonlyMap<string, Entry>;
  readonly users: ReadonlyMap<string, Entry>;
  readonly contexts: ReadonlyMap<string, Entry>;
}

/** Reads a kubeconfig without validating unused entries. */
export async function readKubeconfig(path: string): Promise<KubeconfigFile> {
  const absolute = resolve(path);
  const text = await readSmallFile(absolute, "kubeconfig");
  const config = new Fields(await parsed(text, absolute), `kubeconfig ${absolute}`);
  const entries = (list: string, kind: string) => entriesOf(config, { list, kind, path: absolute });
  return {
    path: absolute,
    currentContext: config.text("current-context"),
    clusters: entries("clusters", "cluster"),
    users: entries("users", "user"),
    contexts: entries("contexts", "context"),
  };
}

/**
 * JSON is also YAML. Only the position of an error is reported: a parser's message quotes the text around it.
 */
async function parsed(text: string, path: string): Promise<unknown> {
  // Loaded on demand: in a cluster, no kubeconfig and no parser are needed.
  const { LineCounter, parseDocument } = await import("yaml");
  const lines = new LineCounter();
  const document = parseDocument(text, {
    prettyErrors: false,
    lineCounter: lines,
    logLevel: "silent",
    // The check is quadratic: a megabyte of keys would take minutes.
    uniqueKeys: false,
  });
  const [mistake] = document.errors;
  if (mistake) {
    const { line } = lines.linePos(mistake.pos[0]);
    throw new KubeconfigError(`kubeconfig ${path} is not valid YAML: ${mistake.code} at line ${line}`);
  }
  try {
    return document.toJS();
  } catch {
    throw new KubeconfigError(`kubeconfig ${path} is not valid YAML: its aliases can't be resolved`);
  }
}

/** Rejects two entries with the same name, like client-go. */
function entriesOf(
  config: Fields,
  { list, kind, path }: { list: string; kind: string; path: string },
): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  for (const item of config.maps(list)) {
    const name = item.required("name");
    const fields = new Fields(item.raw(kind), `${kind} "${name}" in ${path}`);
    if (entries.has(name)) throw new KubeconfigError(`${fields.where} is defined twice: remove one`);
    entries.set(name, { fields, folder: dirname(path) });
  }
  return entries;
}
