import { defineConfig } from "vitepress";
import { breakableCode } from "./breakable-code.ts";
import { repositoryLinks } from "./repository-links.ts";
import { sidebar } from "./sidebar.ts";

const generated = /^reference\/(?!conditions)/;

export default defineConfig({
  title: "coder-k8s",
  description: "Kubernetes operator for Coder: control planes, external provisioners and workspace proxies",
  lastUpdated: false,
  markdown: { config: (markdown) => void markdown.use(repositoryLinks).use(breakableCode) },
  transformPageData: ({ relativePath, frontmatter }) => {
    // Generated pages are wide tables. They can't say so themselves: their first line says that they are generated.
    if (generated.test(relativePath)) Object.assign(frontmatter, { aside: false, pageClass: "wide" });
  },
  themeConfig: {
    nav: [
      { text: "Start", link: "/start" },
      { text: "How to", link: "/how-to/tls" },
      { text: "Reference", link: "/reference/codercontrolplane" },
      { text: "Troubleshooting", link: "/reference/conditions" },
    ],
    sidebar,
    outline: [2, 3],
    search: { provider: "local" },
    footer: { message: "Apache 2.0" },
  },
});
