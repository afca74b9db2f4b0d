import type { DefaultTheme } from "vitepress";

/** Every page of the site, in reading order; a test finds pages that are missing here. */
export const sidebar: DefaultTheme.SidebarItem[] = [
  {
    text: "Start",
    items: [
      { text: "What it is", link: "/" },
      { text: "Five-minute start", link: "/start" },
      { text: "Install", link: "/install" },
      { text: "Versions and support", link: "/versions" },
      { text: "Glossary", link: "/glossary" },
    ],
  },
  {
    text: "Tutorials",
    items: [
      { text: "From zero to Coder", link: "/tutorials/from-zero" },
      { text: "First control plane", link: "/tutorials/first-control-plane" },
      { text: "License", link: "/tutorials/license" },
      { text: "Provisioners", link: "/tutorials/provisioners" },
      { text: "Size a pool", link: "/tutorials/size-a-pool" },
      { text: "Workspace proxies", link: "/tutorials/workspace-proxies" },
      { text: "Argo CD", link: "/tutorials/argo-cd" },
      { text: "From the Go operator", link: "/tutorials/from-the-go-operator" },
      { text: "From the Helm charts", link: "/tutorials/from-the-helm-charts" },
    ],
  },
  {
    text: "How to",
    items: [
      { text: "All tasks", link: "/how-to/" },
      { text: "Serve TLS", link: "/how-to/tls" },
      { text: "Expose by Ingress", link: "/how-to/ingress" },
      { text: "Expose by Gateway", link: "/how-to/gateway" },
      { text: "Log in with OpenID Connect", link: "/how-to/oidc" },
      { text: "Run several pools", link: "/how-to/pools" },
      { text: "Scale pools and proxies", link: "/how-to/scale" },
      { text: "Settings of pods", link: "/how-to/pods" },
      { text: "Pause the operator", link: "/how-to/pause" },
      { text: "Install without internet", link: "/how-to/air-gapped" },
      { text: "Keep to chosen namespaces", link: "/how-to/namespaces" },
      { text: "Keep secrets in a vault", link: "/how-to/external-secrets" },
      { text: "Change the database password", link: "/how-to/database-password" },
      { text: "Back up and restore", link: "/how-to/backup" },
      { text: "Upgrade Coder", link: "/how-to/upgrade-coder" },
      { text: "A stuck upgrade", link: "/how-to/stuck-upgrade" },
      { text: "Find out what is wrong", link: "/how-to/diagnose" },
      { text: "Import a Helm release", link: "/how-to/import-helm" },
      { text: "Let an assistant look", link: "/how-to/assistants" },
      { text: "Examples", link: "/how-to/examples" },
    ],
  },
  {
    text: "How it behaves",
    items: [
      { text: "Operator access", link: "/operator-access" },
      { text: "Licenses", link: "/licenses" },
      { text: "Provisioners", link: "/provisioners" },
      { text: "Workspace proxies", link: "/workspace-proxies" },
      { text: "Argo CD and Flux health", link: "/gitops" },
    ],
  },
  {
    text: "Reference",
    items: [
      { text: "Conditions and reasons", link: "/reference/conditions" },
      { text: "Broken objects", link: "/reference/broken-objects" },
      { text: "Messages", link: "/reference/messages" },
      { text: "CoderControlPlane", link: "/reference/codercontrolplane" },
      { text: "CoderProvisioner", link: "/reference/coderprovisioner" },
      { text: "CoderWorkspaceProxy", link: "/reference/coderworkspaceproxy" },
      { text: "Values of Coder's charts", link: "/reference/chart-values" },
      { text: "Differences after an import", link: "/reference/import-differences" },
      { text: "Command line", link: "/reference/flags" },
      { text: "Kubeconfig and proxies", link: "/reference/kubeconfig" },
      { text: "Metrics", link: "/reference/metrics" },
      { text: "Permissions", link: "/reference/permissions" },
    ],
  },
  {
    text: "Operation",
    items: [
      { text: "Sizing and high availability", link: "/sizing" },
      { text: "Monitoring", link: "/monitoring" },
      { text: "Runbooks", link: "/runbooks" },
      { text: "Security", link: "/security" },
      { text: "Performance", link: "/performance" },
    ],
  },
  {
    text: "Inside",
    items: [
      { text: "Architecture", link: "/architecture" },
      { text: "Writing an operator", link: "/runtime" },
      { text: "Changelog", link: "/changelog" },
    ],
  },
];
