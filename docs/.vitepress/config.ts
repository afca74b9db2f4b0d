import { defineConfig } from "vitepress";
import manifest from "../../package.json" with { type: "json" };
import { breakableCode } from "./breakable-code.ts";
import { labeledCells } from "./labeled-cells.ts";
import { repositoryOf } from "./repository.ts";
import { repositoryLinks } from "./repository-links.ts";
import { sidebar } from "./sidebar.ts";

const generated = /^reference\/(?!conditions)/;
const repository = repositoryOf(manifest);

export default defineConfig({
  title: "coder-k8s",
  description: "Kubernetes operator for Coder: control planes, external provisioners and workspace proxies",
  lastUpdated: false,
  head: [["link", { rel: "icon", type: "image/svg+xml", href: "/icon.svg" }]],
  markdown: {
    config: (markdown) => void markdown.use(repositoryLinks, repository).use(breakableCode).use(labeledCells),
  },
  transformPageData: ({ relativePath, frontmatter }) => {
    // Generated pages are wide tables. They can't say so themselves: their first line says that they are generated.
    if (generated.test(relativePath))
      Object.assign(frontmatter, { aside: false, pageClass: "wide", editLink: false });
  },
  themeConfig: {
    logo: "/icon.svg",
    nav: [
      { text: "Start", link: "/start" },
      { text: "How to", link: "/how-to/" },
      { text: "Reference", link: "/reference/codercontrolplane" },
      { text: "Troubleshooting", link: "/how-to/diagnose" },
      { text: manifest.version, link: "/changelog" },
    ],
    sidebar,
    outline: [2, 3],
    search: { provider: "local" },
    footer: { message: "Apache 2.0" },
    ...(repository && {
      socialLinks: [{ icon: "github" as const, link: repository.home, ariaLabel: "repository" }],
      editLink: { pattern: repository.editPattern, text: "Edit this page" },
    }),
  },
});
