import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          testTimeout: 20_000,
          include: ["{src,tools,demo,test/support,test/chaos}/**/*.test.ts", "test/docs/*.test.ts"],
        },
      },
      {
        test: {
          name: "integration",
          globalSetup: "test/support/cluster/global-setup.ts",
          include: ["test/{contract,docs/cluster,integration}/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          maxWorkers: 2,
        },
      },
    ],
  },
});
