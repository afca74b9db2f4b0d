/** Operating system and architecture in Go's and Kubernetes' spelling. */
export interface Platform {
  readonly os: string;
  readonly arch: string;
}

/** The platform this process runs on. */
export function currentPlatform(): Platform {
  return {
    os: process.platform === "win32" ? "windows" : process.platform,
    arch: process.arch === "x64" ? "amd64" : process.arch,
  };
}
