import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { stored } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import type { CoderControlPlane, CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import { coderCharts } from "../../../tools/coder/charts.ts";
import { OLDER } from "../../../tools/coder/pins.ts";
import { controlPlaneChildren, provisionerChildren } from "../../support/children.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { type Helm, helmFor, succeeded } from "../../support/helm.ts";
import { page } from "./parity/page.ts";
import { provisionerRows } from "./parity/provisioner-rows.ts";
import { look, type Objects, type Row } from "./parity/row.ts";
import { serverRows } from "./parity/server-rows.ts";

/** The page is written from what the charts and our builders really make: `vitest -u` renews it. */
const PAGE = "../../../docs/reference/chart-values.md";

/** The charts of both versions, in the order of `versions`. */
let folders: readonly string[] = [];
let helm: Helm;
beforeAll(async () => {
  helm = await helmFor(sharedCluster());
  folders = await Promise.all(versions.map(({ pins }) => coderCharts(pins)));
  for (const charts of folders)
    for (const chart of ["coder", "provisioner"])
      succeeded(await helm.run(["dependency", "build", join(charts, chart)]));
}, 120_000);
afterAll(async () => {
  for (const charts of folders) await rm(charts, { recursive: true, force: true });
  await helm?.[Symbol.asyncDispose]();
});

const ofServer = (spec: object): Objects =>
  controlPlaneChildren(stored<CoderControlPlane>({ spec })) as unknown as Objects;
const ofProvisioner = (spec: object): Objects =>
  provisionerChildren(
    stored<CoderProvisioner>({ spec: { controlPlaneRef: { name: "coder" }, ...spec } }),
  ) as unknown as Objects;

const charts = [
  { chart: "coder", rows: serverRows, ours: ofServer },
  { chart: "provisioner", rows: provisionerRows, ours: ofProvisioner },
];
const versions = [{ version: "pinned" }, { version: "older", pins: OLDER }];
const all = versions.flatMap(({ version }, index) => charts.map((each) => ({ ...each, version, index })));

async function rendered(chart: string, example: object): Promise<Objects> {
  const isWhole = "provisionerDaemon" in example;
  const values = isWhole ? example : { coder: example };
  const tag = ["--set", "coder.image.tag=v2"];
  const flags = JSON.stringify(values).includes('"tag"') ? [] : tag;
  const release = { name: "coder", namespace: "dev", chart, values };
  const { stdout } = succeeded(await helm.release("template", release, ...flags));
  const documents = stdout.split(/^---$/m).map((document) => parse(document));
  return documents.filter((document) => document !== null);
}

/** Paths of all values of a chart: what holds nothing, or no object. */
function leaves(value: unknown, path: string): string[] {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  const entries = isObject ? Object.entries(value) : [];
  if (entries.length === 0) return [path];
  return entries.flatMap(([name, below]) => leaves(below, path ? `${path}.${name}` : name));
}

const isOf = (leaf: string, { value }: Row) => leaf === value || leaf.startsWith(`${value}.`);

describe.each(all)("the $version chart $chart", ({ chart, index, rows, ours }) => {
  const file = (name: string) => join(folders[index] ?? "", chart, name);
  const values = async () => leaves(parse(await readFile(file("values.yaml"), "utf8")), "");

  test("has no value without a row, and the pinned one each value that a row is about", async () => {
    const known = await values();
    expect(known.filter((leaf) => !rows.some((row) => isOf(leaf, row)))).toEqual([]);
    const unknown = rows.filter((row) => !known.some((leaf) => isOf(leaf, row)));
    if (index === 0) expect(unknown.map(({ value }) => value)).toEqual([]);
  });

  test.each(rows.filter(({ shows }) => shows))(
    "and the operator agree on $value, or there is a reason",
    async (row) => {
      const { chart: example = {}, ours: spec = {}, shows = [], because } = row;
      // What came with a later version of the chart.
      if (index > 0 && !(await values()).some((leaf) => isOf(leaf, row))) return;
      const [theirs, made, plain] = [await rendered(file(""), example), ours(spec), ours({})];
      const places = shows.map((place) => ({ place, chart: look(theirs, place), ours: look(made, place) }));
      const isSame = places.every((place) => isDeepStrictEqual(place.chart, place.ours));
      if (because) return expect(isSame).toBe(false);
      for (const place of places) expect(place.ours, place.place).toEqual(place.chart);
      // An example that changes nothing would prove nothing.
      expect(shows.some((place) => !isDeepStrictEqual(look(made, place), look(plain, place)))).toBe(true);
    },
  );

  test("is omitted by no row without a reason", () => {
    const withoutObjects = rows.filter(({ shows }) => !shows);
    for (const { value, because = "" } of withoutObjects) expect(because, value).toMatch(/^[A-Z].{40,}\.$/);
  });
});

test("the page about the charts' values matches these tests", async () => {
  await expect(page()).toMatchFileSnapshot(PAGE);
});
