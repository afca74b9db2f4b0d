import type { Pod } from "kube-controller-runtime";
import { stored } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import { podProblem } from "./pod-problem.ts";

/** Output of Coder 2.36.1: coderd/ai_providers_migrate.go, with the prefixes of its callers. */
const SEED = "error: create coder API: seed ai providers from env: ";
const DIFFERS =
  'AI provider "anthropic" already exists in the database and differs from the current environment configuration; update the provider through the API or remove the CODER_AIBRIDGE_* (legacy) / CODER_AI_GATEWAY_* env vars to stop seeding it';
const INVALID = 'compute providers from env: invalid AI provider name "A": must match ^[a-z0-9]+$';

test.each([
  [
    DIFFERS,
    /only seed the database, where AI provider "anthropic".*remove its variables from spec\.extraEnv/,
  ],
  [INVALID, /Correct the variables CODER_AI_GATEWAY_\* and CODER_AIBRIDGE_\* in spec\.extraEnv\./],
])("an end of coderd because of AI gateway variables says what to change: %s", (line, advice) => {
  const message = `Encountered an error running "coder server"\n${SEED}${line}\n`;
  const terminated = { exitCode: 1, reason: "Error", message };
  const waiting = { reason: "CrashLoopBackOff" };
  const coder = {
    name: "coder",
    ready: false,
    restartCount: 1,
    state: { waiting },
    lastState: { terminated },
  };
  const pod = stored<Pod>({ status: { phase: "Running", containerStatuses: [coder] } } as unknown as Pod);
  expect(podProblem(pod, 0)).toMatchObject({ kind: "found", message: expect.stringMatching(advice) });
});
