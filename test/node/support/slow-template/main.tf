# A workspace without a pod, whose build takes its time. It has what Coder lists with a workspace: an agent, an app and
# metadata.
terraform {
  required_providers {
    coder = {
      source = "coder/coder"
    }
  }
}

variable "seconds" {
  type        = number
  description = "How long a start takes, unless its daemon has the file that ends it."
}

data "coder_provisioner" "me" {
}

data "coder_workspace" "me" {
}

resource "coder_agent" "main" {
  os   = "linux"
  arch = data.coder_provisioner.me.arch

  metadata {
    display_name = "Load"
    key          = "load"
    script       = "uptime"
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

resource "terraform_data" "delay" {
  count = data.coder_workspace.me.start_count

  provisioner "local-exec" {
    command = "for i in $(seq ${var.seconds}); do test -e /tmp/end-${data.coder_workspace.me.name} && exit; sleep 1; done"
  }
}

resource "coder_metadata" "delay" {
  count       = data.coder_workspace.me.start_count
  resource_id = terraform_data.delay[0].id

  item {
    key   = "seconds"
    value = var.seconds
  }
}
