# nomad volume create deploy/nomad/volume.hcl. (Volumes are written in HCL 1, jobs in HCL 2.)
id        = "disk"
name      = "disk"
type      = "csi"
plugin_id = "ceph-rbd"

capacity_min = "1GiB"

capability {
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
}

mount_options {
  fs_type = "ext4"
}

topology_request {
  preferred {
    topology {
      segments {
        "topology.rbd.csi.ceph.com/zone" = "zone-b"
      }
    }
  }
}

parameters {
  clusterID                = "b9127830-b0cc-4e34-aa47-9d1a2e9949a8"
  pool                     = "common"
  topologyConstrainedPools = <<END
[{"poolName": "zone-a", "domainSegments": [{"domainLabel": "zone", "value": "zone-a"}]},
 {"poolName": "zone-b", "domainSegments": [{"domainLabel": "zone", "value": "zone-b"}]}]
END
}

secrets {
  userID  = "csi-rbd"
  userKey = "REPLACE"
}
