import { writeFile } from "node:fs/promises";
import { type KubeObject, messageOf, type Secret, type Stored, timestamp } from "kube-controller-runtime";
import { MANAGED_BY_LABEL, MANAGER_NAME } from "../../../operator/names.ts";
import { personalCoderd } from "../../coderd.ts";
import { answer, type Command, CommandError, type Context } from "../../command.ts";
import { Gaps } from "../../gaps.ts";
import { assertNamespace } from "../../namespace.ts";
import { gapLines } from "../../terminal/lines.ts";
import type { OutputStyle } from "../../terminal/output-style.ts";
import { table } from "../../terminal/table.ts";
import { type Line, span } from "../../terminal/text.ts";
import { gatherMaterial, type Material } from "./gather.ts";
import { keysOnly, type ObjectRedactor } from "./object-redactor.ts";
import { redactorOf } from "./redactor-for.ts";
import { type ZipEntry, zip } from "./zip.ts";

/** The contents of a bundle, and what could not be read. */
interface BundleReport {
  readonly file: string;
  readonly bytes: number;
  readonly contents: readonly { readonly path: string; readonly bytes: number }[];
  readonly gaps: readonly string[];
}

export const bundle: Command = {
  name: "bundle",
  summary: "Write a zip for a bug report: objects, events, logs, leases, metrics, versions",
  details:
    "The archive contains the keys of Secrets, but not their values. Values of environment variables, arguments and annotations of other tools are omitted. The values of all Secrets in these namespaces are redacted from the remaining text; in namespaces where you may not list Secrets, logs and events are omitted. Review the archive before you send it.",
  flags: [
    {
      flags: "--file <path>",
      summary: "file to write; defaults to a name with the time. Never overwrites a file",
    },
  ],
  isForAllNamespaces: true,
  examples: [
    { does: "Collect everything about one namespace", line: "kubectl coder bundle -n coder" },
    {
      does: "Collect everything about all namespaces, in a file of your choice",
      line: "kubectl coder bundle -A --file report.zip",
    },
  ],
  run: async (context, { flags }) => {
    const report = await writeBundle(context, typeof flags.file === "string" ? flags.file : undefined);
    return answer(report, bundleLines);
  },
};

async function writeBundle(context: Context, file: string | undefined): Promise<BundleReport> {
  const cluster = await context.connect();
  await assertNamespace(cluster);
  const gaps = new Gaps();
  const now = context.clock.now();
  const coderd = personalCoderd(context);
  if (!coderd) gaps.add("Set CODER_URL and CODER_SESSION_TOKEN to include coderd's health and queue.");
  const material = await gatherMaterial(cluster, gaps, coderd);
  const redactor = redactorOf(material, context.env, gaps);
  const parts = await entriesOf(material, redactor);
  const lines = gaps.lines.map((line) => redactor.text(line));
  const about = { plugin: context.version, at: timestamp(now), namespace: cluster.namespace ?? "all" };
  const entries = [{ path: "about.json", text: json({ ...about, gaps: lines }) }, ...parts];
  const archive = zip(entries, new Date(now));
  const path = file ?? `coder-bundle-${timestamp(now).replace(/[-:]/g, "")}.zip`;
  await writeFile(path, archive, { flag: "wx", mode: 0o600 }).catch((error: unknown) => {
    throw new CommandError(`${path} could not be written: ${messageOf(error)}.`);
  });
  const contents = entries.map(({ path: name, text }) => ({ path: name, bytes: Buffer.byteLength(text) }));
  return { file: path, bytes: archive.length, contents, gaps: lines };
}

function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

/** The entries of the archive. All of them pass through the redactor. */
async function entriesOf(
  { objects, secrets, events, texts, answers }: Material,
  redactor: ObjectRedactor,
): Promise<ZipEntry[]> {
  const { stringify } = await import("yaml");
  const yaml = (value: unknown) => stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
  const ofObjects = objects.map((object) => {
    const { namespace = "cluster", name } = object.metadata;
    const path = `objects/${namespace}/${object.kind?.toLowerCase()}/${name}.yaml`;
    return [path, yaml(redactor.object(object))] as const;
  });
  return [
    ...new Map(ofObjects).entries().map(([path, text]) => ({ path, text })),
    {
      path: "secrets.yaml",
      text: yaml(referredSecrets(secrets, objects).map((each) => redactor.object(keysOnly(each)))),
    },
    { path: "events.yaml", text: yaml(events.map((event) => redactor.object(event))) },
    ...texts.map(({ path, text }) => ({ path, text: redactor.text(text) })),
    ...answers.map(({ path, value }) => ({ path, text: json(redactor.object(value)) })),
  ].sort((a, b) => (a.path < b.path ? -1 : 1));
}

function bundleLines({ file, bytes, contents, gaps }: BundleReport, style: OutputStyle): Line[] {
  const rows = contents.map(({ path, bytes: size }) => [span(`${size}`), span(path)]);
  return [
    ...table(["BYTES", "FILE"], rows, { right: ["BYTES"] }),
    [],
    [span(file, "bold"), span(`: ${contents.length} files, ${bytes} bytes.`)],
    [span("Review the archive before you send it.")],
    ...gapLines(gaps, style),
  ];
}

/**
 * The Secrets that the operator created, and those that the objects name. A bundle never describes other
 * Secrets.
 */
function referredSecrets(
  secrets: readonly Stored<Secret>[],
  objects: readonly Stored<KubeObject>[],
): Stored<Secret>[] {
  const referred = new Set(
    objects.flatMap((object) => namesIn(object, false).map((name) => `${object.metadata.namespace}/${name}`)),
  );
  return secrets.filter(
    ({ metadata: { namespace, name, labels } }) =>
      labels?.[MANAGED_BY_LABEL] === MANAGER_NAME || referred.has(`${namespace}/${name}`),
  );
}

/**
 * Strings in or below a field whose name mentions secrets. Strings that are not Secret names match nothing.
 */
function namesIn(value: unknown, isSecret: boolean): string[] {
  if (typeof value === "string") return isSecret ? [value] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, below]) => namesIn(below, isSecret || /secret/i.test(key)));
}
