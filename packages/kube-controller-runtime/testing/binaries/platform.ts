/** Operating system and architecture in the spelling of Go and Kubernetes. */
export interface Platform {
  readonly os: string;
  readonly arch: string;
}

/** The platform of this process. */
export function currentPlatform(): Platform {
  return {
    os: process.platform === "win32" ? "windows" : process.platform,
    arch: process.arch === "x64" ? "amd64" : process.arch,
  };
}
