# The controller as a Nomad job. Client agents need no privilege for it.
variable "image" {
  type    = string
  default = "localhost/cephzone:v0.1.0"
}

variable "monitors" {
  type    = list(string)
  default = ["192.0.2.1:6789", "192.0.2.2:6789", "192.0.2.3:6789"]
}

job "cephzone-controller" {
  type = "service"

  group "controller" {
    count = 2

    task "driver" {
      driver = "docker"

      config {
        image = var.image
        args = [
          "--type=rbd",
          "--controllerserver=true",
          "--drivername=rbd.csi.ceph.com",
          "--nodeid=${node.unique.name}",
          "--endpoint=unix:///csi/csi.sock",
          "--configpath=/local/config.json",
          "--v=2",
        ]
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
        type      = "controller"
        mount_dir = "/csi"
      }

      resources {
        cpu    = 100
        memory = 128
      }
    }
  }
}
