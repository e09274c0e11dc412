# The node's part as a Nomad job, on every client. Labels come from the client's own configuration
# (client { meta { zone = "zone-a" } }), and takeover is told by NodeGetInfo: Nomad has no labels that
# somebody else could change.
variable "image" {
  type    = string
  default = "localhost/cephzone:v0.1.0"
}

variable "monitors" {
  type    = list(string)
  default = ["192.0.2.1:6789", "192.0.2.2:6789", "192.0.2.3:6789"]
}

job "cephzone-node" {
  type = "system"

  group "node" {
    task "driver" {
      driver = "docker"

      config {
        image        = var.image
        privileged   = true
        network_mode = "host"
        args = [
          "--type=rbd",
          "--nodeserver=true",
          "--drivername=rbd.csi.ceph.com",
          "--nodeid=${node.unique.name}",
          "--endpoint=unix:///csi/csi.sock",
          "--configpath=/local/config.json",
          "--domainlabels=nomad/zone",
          "--node-labels=nomad/zone=${meta.zone}",
          "--takeover-via=nodeinfo",
          "--v=2",
        ]

        mount {
          type     = "bind"
          source   = "/dev"
          target   = "/dev"
          readonly = false
        }

        mount {
          type     = "bind"
          source   = "/sys"
          target   = "/sys"
          readonly = false
        }

        mount {
          type     = "bind"
          source   = "/lib/modules"
          target   = "/lib/modules"
          readonly = true
        }
      }

      template {
        destination = "local/config.json"
        data = jsonencode([{
          clusterID = "b9127830-b0cc-4e34-aa47-9d1a2e9949a8"
          monitors  = var.monitors
        }])
      }

      csi_plugin {
        id        = "ceph-rbd"
        type      = "node"
        mount_dir = "/csi"
      }

      resources {
        cpu    = 100
        memory = 256
      }
    }
  }
}
