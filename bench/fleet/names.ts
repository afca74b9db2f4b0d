/** The names of a fleet's members, counted from 0. */
export function controlPlaneName(index: number): string {
  return `coder-${index}`;
}

export function provisionerName(index: number): string {
  return `pool-${index}`;
}
