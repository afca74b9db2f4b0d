/** Returns `2.26` for `v2.26.1+abc`. coderd considers versions compatible if major and minor match. */
export function minorOf(version: string | undefined): string | undefined {
  return /^v?(\d+\.\d+)/.exec(version ?? "")?.[1];
}
