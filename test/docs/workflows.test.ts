import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { repository } from "./pages.ts";

/*
 * What can be known of the forge's workflows without the forge. Nothing here runs them.
 */

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly uses?: string;
  readonly needs?: string;
  readonly steps?: readonly Step[];
}

interface Workflow {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

const read = (path: string) => readFileSync(join(repository, path), "utf8");
const paths = globSync(".github/workflows/*.yml", { cwd: repository });
const workflows = new Map(paths.map((path) => [path, parse(read(path)) as Workflow]));
const prepare: { runs: { steps: Step[] } } = parse(read(".github/actions/prepare/action.yml"));
const jobs = [...workflows].flatMap(([path, workflow]) =>
  Object.entries(workflow.jobs).map(([name, job]) => ({ where: `${path}: ${name}`, name, job, workflow })),
);
const steps = [
  ...jobs.flatMap(({ where, job }) => (job.steps ?? []).map((step) => ({ where, step }))),
  ...prepare.runs.steps.map((step) => ({ where: "prepare", step })),
];
const scripts = steps.flatMap(({ where, step }) => (step.run ? [{ where, run: step.run }] : []));
const targets = new Set([...read("Makefile").matchAll(/^([a-z0-9-]+):/gm)].map(([, name]) => name));

describe("workflows", () => {
  test("call existing make targets and files", () => {
    const called = scripts.flatMap(({ run }) =>
      [...run.matchAll(/\bmake ([a-z0-9-]+)/g)].map(([, name]) => name),
    );
    expect(called).toEqual(expect.arrayContaining(["release", "test-integration", "test-monitoring"]));
    expect(called.filter((name) => !targets.has(name))).toEqual([]);
    const local = [...steps.map(({ step }) => step.uses), ...jobs.map(({ job }) => job.uses)];
    const files = local
      .filter((uses) => uses?.startsWith("./"))
      .map((uses) => (uses?.endsWith(".yml") ? uses : `${uses}/action.yml`));
    expect(files.filter((file) => !existsSync(join(repository, file)))).toEqual([]);
  });

  test("use actions of others only at a commit, which a comment names", () => {
    const lines = [...paths, ".github/actions/prepare/action.yml"].flatMap(
      (path) => read(path).match(/uses: (?!\.\/).*/g) ?? [],
    );
    expect(lines.length).toBeGreaterThan(10);
    const pinned = /^uses: [\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/;
    expect(lines.filter((line) => !pinned.test(line))).toEqual([]);
    const actions = new Set(lines.map((line) => line.split("@")[0]));
    expect(new Set(lines).size, "versions of an action").toBe(actions.size);
  });

  test.each(scripts)("$where: no script has text of others put into it", ({ run }) => {
    expect(run).not.toContain("${{");
  });

  test("leave no token behind in a checkout", () => {
    const checkouts = steps.filter(({ step }) => step.uses?.startsWith("actions/checkout@"));
    expect(checkouts.map(({ step }) => step.with)).toEqual(
      checkouts.map(() => ({ "persist-credentials": false })),
    );
  });
});

describe("permissions", () => {
  const writers = jobs.filter(({ job, workflow }) =>
    Object.values(job.permissions ?? workflow.permissions ?? { all: "write" }).includes("write"),
  );

  test("to write are those of the job that publishes, and only what it needs", () => {
    expect(writers.map(({ where, job }) => [where, job.permissions])).toEqual([
      [
        ".github/workflows/release.yml: publish",
        { contents: "write", packages: "write", "id-token": "write", attestations: "write" },
      ],
    ]);
  });

  test("to write are never granted to a job that runs code of the repository", () => {
    for (const { job } of writers) {
      const uses = (job.steps ?? []).map((step) => step.uses ?? "");
      expect(uses.filter((each) => each.startsWith("./") || each.startsWith("actions/checkout@"))).toEqual(
        [],
      );
      expect((job.steps ?? []).filter(({ run }) => /\b(make|npm|node)\b/.test(run ?? ""))).toEqual([]);
    }
  });
});

test("a release is published only after it was built, and built only after all tests have passed", () => {
  const release = workflows.get(".github/workflows/release.yml")?.jobs;
  expect(release?.publish?.needs).toBe("build");
  expect(release?.build?.needs).toBe("test");
  expect(release?.test?.uses).toBe("./.github/workflows/ci.yml");
});

test("CI tests the oldest Kubernetes that the chart accepts", () => {
  const [, oldest] = /KUBE_VERSION=(\S+)/.exec(scripts.map(({ run }) => run).join("\n")) ?? [];
  const { kubeVersion } = parse(read("charts/coder-k8s/Chart.yaml"));
  const minor = (version = "") => version.split(".").slice(0, 2).join(".");
  expect(kubeVersion).toBe(`>=${minor(oldest)}.0-0`);
});
