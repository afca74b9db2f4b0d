import type { ReleaseNames } from "../generate/release-names.ts";
import type { Published } from "./published.ts";

/** The section of a release in the changelog. */
export interface Section {
  readonly title: string;
  readonly text: string;
}

/**
 * The section of a version in a changelog. For a dry run before it is written, `orUnreleased` uses the
 * unreleased changes.
 */
export function changelogSection(
  changelog: string,
  version: string,
  { orUnreleased }: { readonly orUnreleased: boolean },
): Section {
  const sections = changelog.split(/^## /m).slice(1);
  const named = (name: string) => sections.find((section) => section.startsWith(`[${name}]`));
  const found = named(version) ?? (orUnreleased ? named("Unreleased") : undefined);
  if (found === undefined) {
    throw new Error(
      `CHANGELOG.md has no section [${version}]: rename [Unreleased] to it, with today's date, and commit that`,
    );
  }
  const [title = "", ...lines] = found.split("\n");
  const text = lines.join("\n").trim();
  if (text === "") throw new Error(`CHANGELOG.md has nothing in its section ${title}`);
  return { title, text };
}

/** The notes of a release: how to install it, the changes, and its parts. */
export function releaseNotes({ text }: Section, names: ReleaseNames, { image, chart }: Published): string {
  return `## Install or upgrade

\`\`\`sh
helm upgrade --install coder-k8s oci://${chart.name} --version ${names.version} \\
  --namespace coder-system --create-namespace --reset-then-reuse-values
\`\`\`

Without helm: \`kubectl apply --server-side -f install.yaml\`. For \`kubectl coder\`, put the program from the archive of
your system on the PATH, or run \`kubectl krew install --manifest=coder.yaml --archive=kubectl-coder-linux-amd64.tar.gz\`.

${text.replaceAll(/^###/gm, "##")}

## Digests

| | |
|---|---|
| image | \`${image.name}:${names.version}@${image.digest}\` |
| chart | \`${chart.name}:${names.version}@${chart.digest}\` |

Files have their SHA-256 in \`checksums.txt\`. Image and chart are signed by the workflow that built them:

\`\`\`sh
cosign verify ${image.name}@${image.digest} \\
  --certificate-oidc-issuer https://token.actions.githubusercontent.com \\
  --certificate-identity ${names.repository}/.github/workflows/release.yml@refs/tags/v${names.version}
\`\`\`
`;
}
