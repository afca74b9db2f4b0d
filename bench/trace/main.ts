/** Traces one control plane and one provisioner from creation to Ready, and draws that for `docs/performance.md`. */
import { writeFile } from "node:fs/promises";
import { chart } from "./chart.ts";
import { DRAWN_MS, PICTURE, tracePair } from "./pair.ts";

for (const coderdMs of [0, DRAWN_MS]) {
  const trace = await tracePair(coderdMs);
  const { coder, pool } = trace.readyAt;
  console.log(
    `coderd ${coderdMs} ms: the control plane is Ready after ${coder} ms, the provisioner after ${pool} ms`,
  );
  for (const { of, side, what, from, to } of trace.spans)
    console.log(
      `${String(from).padStart(6)} ${String(to - from).padStart(5)} ms  ${of.padEnd(5)} ${side.padEnd(10)} ${what}`,
    );
  if (coderdMs === DRAWN_MS) await writeFile(PICTURE, chart(trace));
}
