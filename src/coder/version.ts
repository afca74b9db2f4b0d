/** `2.26` of `v2.26.1+abc`: coderd calls versions matching when major and minor agree. */
export function minorOf(version: string | undefined): string | undefined {
  return /^v?(\d+\.\d+)/.exec(version ?? "")?.[1];
}
