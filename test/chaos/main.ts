/** `make chaos`: faults of all kinds over a fleet, drawn by a seed, and then the question whether all is well. */
import { parseArgs } from "node:util";
import { messageOf } from "kube-controller-runtime";
import { runCampaign } from "./campaign.ts";

const MINUTE_MS = 60_000;
/**
 * The longest waits that the operator allows itself: a watch that fell silent is given up after four minutes, coderd is
 * left alone for at most two minutes and asked about keys and licenses every two; and then the machine is busy.
 */
const HEAL_MS = 7 * MINUTE_MS;
/** A request to the API server that got no answer is given up after 30 s, less the time in which events are gathered. */
const STEADY_MS = 22_000;
const QUIET_MS = 20_000;

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: String(Math.floor(Math.random() * 1_000_000)) },
    minutes: { type: "string", default: "3" },
    objects: { type: "string", default: "8" },
  },
});
const replay = `make chaos SEED=${values.seed} MINUTES=${values.minutes} OBJECTS=${values.objects}`;
const startedAt = performance.now();

function report(line: string): void {
  const passed = ((performance.now() - startedAt) / 1_000).toFixed(1);
  process.stdout.write(`${passed.padStart(7)} s  ${line}\n`);
}

function numberOf(name: keyof typeof values, least: number): number {
  const number = Number(values[name]);
  if (!(number >= least)) throw new Error(`${name} must be a number from ${least} up`);
  return number;
}

async function campaign(): Promise<string[]> {
  const options = {
    seed: numberOf("seed", 0),
    durationMs: numberOf("minutes", 0.1) * MINUTE_MS,
    objects: numberOf("objects", 1),
    healWithinMs: HEAL_MS,
    steadyMs: STEADY_MS,
    quietMs: QUIET_MS,
    logDir: `.cache/chaos/seed-${values.seed}`,
  };
  report(replay);
  return runCampaign(options, report);
}

const violations = await campaign().catch((error) => [`the campaign itself failed: ${messageOf(error)}`]);
for (const violation of violations) process.stderr.write(`FAILED  ${violation}\n`);
process.stdout.write(
  violations.length === 0
    ? "every invariant held\n"
    : `seed ${values.seed} failed; replay it with: ${replay}\n`,
);
process.exit(violations.length === 0 ? 0 : 1);
