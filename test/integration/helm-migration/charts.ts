import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { coderCharts } from "../../../tools/coder/charts.ts";
import { OLDER } from "../../../tools/coder/pins.ts";
import { type Helm, succeeded } from "../../support/helm.ts";

interface Release {
  readonly name: string;
  /** Which of Coder's charts. */
  readonly chart: string;
  readonly namespace: string;
  readonly values: object;
  /** `upgrade` with `--install` instead of `install`, as for an existing release. */
  readonly upgrade?: boolean;
}

/** Coder's own charts, of the older version as releases that are moved were installed with, for the tests of a file, and how to install one of them. */
export function installerOfCharts(): (helm: Helm, release: Release) => Promise<void> {
  let charts: string;
  beforeAll(async () => {
    charts = await coderCharts(OLDER);
  });
  afterAll(() => rm(charts, { recursive: true, force: true }));
  return async (helm, release) => {
    const chart = join(charts, release.chart);
    succeeded(await helm.run(["dependency", "build", chart]));
    const [verb, flags] = release.upgrade
      ? (["upgrade", ["--install"]] as const)
      : (["install", []] as const);
    succeeded(await helm.release(verb, { ...release, chart }, ...flags));
  };
}
