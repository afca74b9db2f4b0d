/** The part of package.json that says where the sources are. */
interface Manifest {
  readonly name: string;
  readonly repository?: string | { readonly url: string };
}

const BRANCH = "main";

/** Where people read and change the sources on the web. */
export interface Repository {
  readonly home: string;
  /** For VitePress, which puts a page's path in the place of `:path`. */
  readonly editPattern: string;
  /** The page of a file of the repository. */
  file(path: string): string;
}

/** The repository that package.json names; undefined when it names none that can be opened in a browser. */
export function repositoryOf({ repository }: Manifest): Repository | undefined {
  const url = typeof repository === "string" ? repository : repository?.url;
  const [, host, path] =
    /^(?:git\+)?(?:https?:\/\/|ssh:\/\/git@|git@)([^/:]+)[/:](.+?)(?:\.git)?$/.exec(url ?? "") ?? [];
  if (!host || !path) return undefined;
  const home = `https://${host}/${path}`;
  return {
    home,
    editPattern: `${home}/edit/${BRANCH}/docs/:path`,
    file: (file) => `${home}/blob/${BRANCH}/${file}`,
  };
}
