/** The line that an operator logs when it was asked to collect its garbage. */
export const COLLECTED = "garbage was collected";

/** What a process has in use once its garbage is collected. */
export interface Memory {
  readonly heapMB: number;
  readonly residentMB: number;
}
