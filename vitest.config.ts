import { defineConfig } from "vitest/config";

/** One more than the processors that CI has: at any time a test waits for a server, a lease or a namespace. */
const WORKERS = 3;

/** End-to-end tests that choose versions of Coder themselves. The others run on either, while these are built. */
const VERSION_SPECIFIC = ["company", "contract", "demo", "first-admin", "upgrade", "unlicensed"].map(
  (name) => `test/e2e/${name}.test.ts`,
);

/** Tests on a node that cordon it, replace the operator, or measure time without service. */
const ALONE_ON_NODE = ["away", "move", "operator", "tutorial", "upgrade", "upgrade-faults"].map(
  (name) => `test/node/${name}.test.ts`,
);

const ON_NODE = {
  globalSetup: "test/node/support/global-setup.ts",
  testTimeout: 300_000,
  hookTimeout: 300_000,
};

const END_TO_END = { testTimeout: 180_000, hookTimeout: 180_000, maxWorkers: 2 };

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          // Nothing waits in real time here, so a test that takes this long hangs.
          testTimeout: 60_000,
          hookTimeout: 60_000,
          maxWorkers: WORKERS,
          // These share nothing but modules, which take longer to load than to test.
          isolate: false,
          include: [
            "{src,packages/*/src,packages/*/testing,lab,tools,demo,docs/.vitepress,test/support,test/chaos,test/fuzz,test/world,test/flaky,test/mutants}/**/*.test.ts",
            "test/docs/*.test.ts",
          ],
        },
      },
      {
        test: {
          name: "integration",
          globalSetup: "test/support/run/global-setup.ts",
          include: ["test/{contract,docs/cluster,integration}/**/*.test.ts", "packages/*/test/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 20_000 } },
          maxWorkers: WORKERS,
          // As above: no file changes what others share, and the modules of the operator load slowly.
          isolate: false,
          // Of tests that mostly wait.
          maxConcurrency: 8,
        },
      },
      {
        test: {
          name: "monitoring",
          include: ["test/monitoring/**/*.test.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: "e2e",
          globalSetup: "test/e2e/support/global-setup.ts",
          include: ["test/e2e/**/*.test.ts"],
          exclude: VERSION_SPECIFIC,
          ...END_TO_END,
          // Its processes need the machine for themselves.
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "e2e-versions",
          include: process.env.CODER ? [] : VERSION_SPECIFIC,
          ...END_TO_END,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: "node-start",
          include: ["test/node-start/**/*.test.ts"],
          // One of them builds and loads images.
          testTimeout: 240_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: "node",
          include: ["test/node/**/*.test.ts"],
          exclude: ALONE_ON_NODE,
          ...ON_NODE,
          // They mostly wait for the kubelet.
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: "node-alone",
          include: ALONE_ON_NODE,
          ...ON_NODE,
          maxWorkers: 1,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
