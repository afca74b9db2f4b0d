/** Fills a cache and reports, as JSON lines, when it is synced and how many updates it has received. */

import {
  Cache,
  createLogger,
  HttpClient,
  httpTransport,
  loadCredentials,
  systemClock,
} from "kube-controller-runtime";
import { CoderControlPlane } from "../src/api/v1alpha1/kinds.ts";

const REPORT_MS = 10;

const [, , kubeconfig] = process.argv;
const client = new HttpClient({
  transport: httpTransport(await loadCredentials({ kubeconfig })),
  clock: systemClock,
  fieldManager: "bench",
  userAgent: "bench",
});
const cache = new Cache(CoderControlPlane, {
  client,
  clock: systemClock,
  random: Math.random,
  log: createLogger({ level: "error", destination: process.stderr }),
  namespaces: [],
});
let updates = 0;
cache.onChange(({ type }) => {
  if (type === "updated") updates++;
});

const startedAt = performance.now();
void cache.run(new AbortController().signal);
await cache.whenSynced();
console.log(JSON.stringify({ synced: cache.size, syncMs: performance.now() - startedAt }));

let reported = 0;
setInterval(() => {
  if (updates === reported) return;
  reported = updates;
  console.log(JSON.stringify({ updates }));
}, REPORT_MS);
