/** `make fuzz`: extreme objects, and hostile answers from coderd and Postgres, drawn by a seed. */
import { parseArgs } from "node:util";
import { messageOf } from "kube-controller-runtime";
import { fuzz } from "./campaign.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: String(Math.floor(Math.random() * 1_000_000)) },
    minutes: { type: "string", default: "1" },
  },
});
const replay = `make fuzz SEED=${values.seed} MINUTES=${values.minutes}`;
const report = (line: string) => void process.stdout.write(`${line}\n`);

report(replay);
const options = { seed: Number(values.seed), durationMs: Number(values.minutes) * 60_000 };
const violations = await fuzz(options, report).catch((error) => [
  `the campaign itself failed: ${messageOf(error)}`,
]);
for (const violation of violations) process.stderr.write(`FAILED  ${violation}\n`);
report(
  violations.length === 0 ? "every invariant held" : `seed ${values.seed} failed; replay it with: ${replay}`,
);
process.exit(violations.length === 0 ? 0 : 1);
