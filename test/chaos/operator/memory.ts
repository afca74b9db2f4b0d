/** The line that an operator logs when it was asked to collect its garbage. */
export const COLLECTED = "garbage was collected";

/** The used memory of a process after a garbage collection. */
export interface Memory {
  readonly heapMB: number;
  readonly residentMB: number;
}
