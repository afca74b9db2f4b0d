/** What a fleet's members are called, counted from 0. */
export function controlPlaneName(index: number): string {
  return `coder-${index}`;
}

export function provisionerName(index: number): string {
  return `pool-${index}`;
}
