# A workspace in Kubernetes, like that of Coder's own example: an agent, a volume for its home folder, and a pod or a
# Deployment. Its image needs no more than a shell and wget. The names of resources are those of the provider that the
# Coder image of the tests contains; later versions know them too.
terraform {
  required_providers {
    coder = {
      source = "coder/coder"
    }
    kubernetes = {
      source = "hashicorp/kubernetes"
    }
  }
}

variable "namespace" {
  type        = string
  description = "The namespace of workspaces; it is in spec.rbac.workspaceNamespaces of the pool."
}

variable "image" {
  type        = string
  description = "The image of workspaces."
}

variable "workload" {
  type        = string
  description = "What a workspace is: pod or deployment."
  default     = "pod"
}

locals {
  name = "coder-${lower(data.coder_workspace_owner.me.name)}-${lower(data.coder_workspace.me.name)}"
  labels = {
    "app.kubernetes.io/name"     = "coder-workspace"
    "app.kubernetes.io/instance" = local.name
    "com.coder.workspace.name"   = data.coder_workspace.me.name
  }
  starts = data.coder_workspace.me.start_count
}

# The daemon's ServiceAccount says what may be made.
provider "kubernetes" {
}

data "coder_provisioner" "me" {
}

data "coder_workspace" "me" {
}

data "coder_workspace_owner" "me" {
}

resource "coder_agent" "main" {
  os   = "linux"
  arch = data.coder_provisioner.me.arch

  startup_script = "date > /tmp/started"

  metadata {
    display_name = "Processes"
    key          = "processes"
    script       = "ls -d /proc/[0-9]* | wc -l"
    interval     = 5
    timeout      = 2
  }
}

resource "coder_app" "files" {
  agent_id     = coder_agent.main.id
  slug         = "files"
  display_name = "Files"
  url          = "http://localhost:8000"
}

resource "kubernetes_persistent_volume_claim" "home" {
  wait_until_bound = false

  metadata {
    name      = "${local.name}-home"
    namespace = var.namespace
    labels    = local.labels
  }

  spec {
    access_modes = ["ReadWriteOnce"]
    resources {
      requests = {
        storage = "10Mi"
      }
    }
  }
}

resource "kubernetes_pod" "main" {
  count = var.workload == "pod" ? local.starts : 0

  metadata {
    name      = local.name
    namespace = var.namespace
    labels    = local.labels
  }

  spec {
    termination_grace_period_seconds = 5
    security_context {
      run_as_user     = 1000
      fs_group        = 1000
      run_as_non_root = true
    }
    container {
      name    = "dev"
      image   = var.image
      command = ["sh", "-c", coder_agent.main.init_script]
      env {
        name  = "CODER_AGENT_TOKEN"
        value = coder_agent.main.token
      }
      volume_mount {
        mount_path = "/home/coder"
        name       = "home"
      }
    }
    volume {
      name = "home"
      persistent_volume_claim {
        claim_name = kubernetes_persistent_volume_claim.home.metadata.0.name
      }
    }
  }
}

resource "kubernetes_deployment" "main" {
  count            = var.workload == "deployment" ? local.starts : 0
  wait_for_rollout = false

  metadata {
    name      = local.name
    namespace = var.namespace
    labels    = local.labels
  }

  spec {
    replicas = 1
    selector {
      match_labels = local.labels
    }
    strategy {
      type = "Recreate"
    }
    template {
      metadata {
        labels = local.labels
      }
      spec {
        termination_grace_period_seconds = 5
        security_context {
          run_as_user     = 1000
          fs_group        = 1000
          run_as_non_root = true
        }
        container {
          name    = "dev"
          image   = var.image
          command = ["sh", "-c", coder_agent.main.init_script]
          env {
            name  = "CODER_AGENT_TOKEN"
            value = coder_agent.main.token
          }
          volume_mount {
            mount_path = "/home/coder"
            name       = "home"
          }
        }
        volume {
          name = "home"
          persistent_volume_claim {
            claim_name = kubernetes_persistent_volume_claim.home.metadata.0.name
          }
        }
      }
    }
  }
}
