#pragma once

/*
 * Everything that is written into Ceph for good: names of objects, omap keys, metadata keys. The
 * only place for these literals (tests/lint/on-disk). A name here is never changed or given another
 * meaning: volumes live longer than drivers, and Ceph-CSI must be able to take them back.
 *
 * Each line has the name, its value and who writes it. "ours": only this driver, since 0.1.0.
 * "Ceph-CSI": only Ceph-CSI. "both": this driver writes what Ceph-CSI writes. In parentheses: the
 * release of Ceph-CSI that began it, where it is known. Ceph-CSI reads omap keys that start with
 * "csi." and ignores all others.
 *
 * HANDLE is a volume or snapshot handle of CSI; UUID has 36 characters; POOLID is a pool's id in 16
 * hex digits; REQUEST is the name in a CSI request, such as pvc-UUID; NODE is a node's id; INSTANCE
 * is --instanceid. Numbers are decimal text. Values end without a NUL or a newline.
 */

/* clang-format off */

/* --- RADOS objects: the journal, in the pool of the images or in the metadata pool of CephFS --- */

#define JOURNAL_OBJECTS         "csi."              /* prefix of all of these; both */
#define JOURNAL_VOLUMES         "csi.volumes."      /* + INSTANCE: directory of volumes; both */
#define JOURNAL_SNAPSHOTS       "csi.snaps."        /* + INSTANCE: directory of snapshots; both */
#define JOURNAL_GROUPS          "csi.groups."       /* + INSTANCE: directory of groups; both */
#define JOURNAL_VOLUME_PREFIX   "csi.volume."       /* + UUID: entry of a volume; both */
#define JOURNAL_SNAPSHOT_PREFIX "csi.snap."         /* + UUID: entry of a snapshot; both */
#define JOURNAL_GROUP_PREFIX    "csi.volume.group." /* + UUID: entry of a group; both */

/* --- omap keys of directories --- */

/* JOURNAL_x_PREFIX + REQUEST: UUID, or POOLID/UUID if the image is in another pool; both */
/* JOURNAL_VOLUME_PREFIX + HANDLE: another handle; Ceph-CSI 3.2 only, never read */
#define PURGE_KEY       "cephzone.purge."   /* + POOLID.IMAGEID: name that an image in the trash had; ours */
#define PURGE_CLAIM_KEY "cephzone.purging." /* + POOLID.IMAGEID: process UUID and ms of who removes it; ours */
#define FLATTEN_KEY     "cephzone.flatten." /* + IMAGEID: name of an image of this pool, to be detached from its parent; ours */

/* --- omap keys of entries that Ceph-CSI knows --- */

#define JOURNAL_KEY_VOLUME_NAME   "csi.volname"                  /* volumes, groups: REQUEST; both */
#define JOURNAL_KEY_SNAPSHOT_NAME "csi.snapname"                 /* snapshots: REQUEST; both */
#define JOURNAL_KEY_IMAGE_NAME    "csi.imagename"                /* image, subvolume or its snapshot; both (2.1) */
#define JOURNAL_KEY_GROUP_NAME    "csi.groupname"                /* groups: IMAGE_PREFIX_GROUP + UUID; both */
#define JOURNAL_KEY_IMAGE_ID      "csi.imageid"                  /* RBD: id of the image, once it is complete; both */
#define JOURNAL_KEY_SOURCE        "csi.source"                   /* snapshots: image or subvolume of the source; both */
#define JOURNAL_KEY_POOL          "csi.journalpool"              /* POOLID of the directory if in another pool; both (2.1) */
#define JOURNAL_KEY_OWNER         "csi.volume.owner"             /* namespace of the PVC; both */
#define JOURNAL_KEY_KMS           "csi.volume.encryptKMS"        /* id of the KMS; Ceph-CSI, preserved by us */
#define JOURNAL_KEY_ENCRYPTION    "csi.volume.encryptionType"    /* block or file; Ceph-CSI (3.8), preserved by us */
#define JOURNAL_KEY_GROUP         "csi.groupid"                  /* snapshots: HANDLE of their group snapshot; both */
#define JOURNAL_KEY_GROUP_CREATED "csi.creationtime"             /* groups: RFC 3339; both (3.12) */
#define CEPHFS_KEY_BACKING        "csi.volume.backingsnapshotid" /* volumes: HANDLE of the snapshot they show; both (3.7) */
#define JOURNAL_KEY_NFS_CLUSTER   "csi.nfs.cluster"              /* CephFS volumes: NFS cluster; Ceph-CSI */
/* and the members of a group: HANDLE -> HANDLE, image name or nothing; both */

/* --- omap keys of entries that Ceph-CSI does not look at --- */

#define JOURNAL_KEY_OURS           "cephzone."             /* prefix of all of these; ours */
#define JOURNAL_KEY_SIZE           "cephzone.size"         /* bytes requested; CephFS snapshots: quota of the source; ours */
#define JOURNAL_KEY_DATA_POOL      "cephzone.datapool"     /* data pool, if not the default one; ours */
#define JOURNAL_KEY_REQUEST_SOURCE "cephzone.source"       /* requested: none, snapshot:HANDLE, volume:HANDLE; ours */
#define JOURNAL_KEY_CAPABILITIES   "cephzone.capabilities" /* requested: mount:MODE,block:MODE,...; ours */
#define JOURNAL_KEY_PARAMETERS     "cephzone.parameters"   /* hash of the class parameters, 16 hex digits; ours */
#define JOURNAL_KEY_SEGMENTS       "cephzone.segments"     /* accessible topology: LABEL=VALUE,...; ours */
#define JOURNAL_KEY_BEGUN          "cephzone.begun"        /* start of creation, seconds since 1970; ours */
#define JOURNAL_KEY_PROCESS        "cephzone.process"      /* UUID of the driver process that creates; ours */
#define JOURNAL_KEY_MAKERS         "cephzone.makers"       /* Ceph client ids that may be creating, by blanks; 0: unknown; ours */
#define JOURNAL_KEY_SOURCE_HANDLE  "cephzone.sourcevolume" /* snapshots: HANDLE of the source volume; ours */
#define JOURNAL_KEY_GROUP_SOURCES  "cephzone.sources"      /* groups: sorted HANDLEs of the source volumes; ours */
#define CEPHFS_KEY_GROWN           "cephzone.grown"        /* volumes: bytes that an expansion asked for; ours */
#define CEPHFS_KEY_COMPLETE        "cephzone.complete"     /* 1 when creation finished; ours */
#define CEPHFS_KEY_CREATED         "cephzone.created"      /* snapshots: SECONDS.NANOSECONDS; ours */
#define CEPHFS_KEY_CLONED          "cephzone.cloned"       /* clones: subvolume that has the snapshot of them; ours */
#define CEPHFS_KEY_CLONED_GROUP    "cephzone.clonedgroup"  /* clones: group of that subvolume, if it is another; ours */
#define CEPHFS_KEY_DELETED         "cephzone.deleted"      /* snapshots: 1 if deleted but kept for its volumes; ours */
#define CEPHFS_KEY_QUIESCE         "cephzone.quiesce"      /* first snapshot of a group: its quiesce set; ours */

/* --- RADOS objects: references to CephFS snapshots, beside the journal (references.h) --- */

#define REFERENCES_PREFIX  "rt-backingsnapshot-"     /* + HANDLE: 4 bytes, big-endian: count; both (3.7) */
#define REFERENCES_XATTR   "csi.ceph.com/rt-version" /* 4 bytes, big-endian: REFERENCES_VERSION; both */
#define REFERENCES_VERSION 1                         /* both */
#define REFERENCE_NORMAL   "\001"                    /* omap HANDLE or subvolume: in use; both */
#define REFERENCE_MASKED   "\002"                    /* omap HANDLE: the snapshot was deleted; both */

/* --- metadata of RBD images, subvolumes and subvolume snapshots --- */

#define METADATA_OF_ONE             "."                                              /* prefix of what is never copied to a clone or snapshot; both */
#define METADATA_KUBERNETES         "csi.storage.k8s.io/"                            /* prefix of what the sidecars pass; both */
#define METADATA_PVC_NAME           METADATA_KUBERNETES "pvc/name"                   /* volumes; both */
#define METADATA_PVC_NAMESPACE      METADATA_KUBERNETES "pvc/namespace"              /* volumes; both */
#define METADATA_PV_NAME            METADATA_KUBERNETES "pv/name"                    /* volumes; both */
#define METADATA_SNAPSHOT_NAME      METADATA_KUBERNETES "volumesnapshot/name"        /* snapshots; both */
#define METADATA_SNAPSHOT_NAMESPACE METADATA_KUBERNETES "volumesnapshot/namespace"   /* snapshots; both */
#define METADATA_CONTENT_NAME       METADATA_KUBERNETES "volumesnapshotcontent/name" /* snapshots; both */
#define METADATA_CLUSTER_NAME       "csi.ceph.com/cluster/name"                      /* --clustername; both */

/* --- metadata of RBD images --- */

#define CLIENT_RECORD_RBD      ".rbd.csi.ceph.com/clientAddress/"   /* + NODE: address of its client, kept; ours */
#define METADATA_FORMATTING    "cephzone.formatting"                /* file system, image id, its UUID, while mkfs runs; ours */
#define METADATA_SETTING       "conf_"                              /* + option of librbd, which reads it; both */
#define METADATA_QOS           METADATA_SETTING "rbd_qos_"          /* + limit; both (3.14) */
#define METADATA_RBD_CLIENT    ".rbd.csi.ceph.com/clientaddress/"   /* + HANDLE/NODE (3.15.0: NODE): IP; both (3.15) */
#define METADATA_RBD_USER      ".rbd.csi.ceph.com/userid/"          /* + HANDLE/NODE: Ceph user; both (3.15) */
#define METADATA_RBD_ACCOUNT   ".rbd.csi.ceph.com/serviceaccount"   /* names, by commas; administrators, for both (3.17) */
#define METADATA_RBD_CGROUP    ".rbd.csi.ceph.com/cgroup_qos_max_"  /* + KIND: number or max, for io.max; both (3.18) */
#define METADATA_RBD_LIMIT     "_limit"                             /* after METADATA_QOS etc. and KIND (read_iops, bps, ...); both */
#define METADATA_RBD_BASE_QOS  "rbd_base_qos_"                      /* + KIND_limit: policy that limits follow from; both (3.14) */
#define METADATA_RBD_BASE_SIZE METADATA_RBD_BASE_QOS "vol_size"     /* bytes from which limits grow; both (3.14) */
#define METADATA_RBD_MAX_QOS   "rbd_max_qos_"                       /* + KIND_limit; both (3.15) */
#define METADATA_RBD_PER_GIB   "_per_gib_limit"                     /* after METADATA_RBD_POLICY and KIND; both (3.14) */
#define METADATA_RBD_POLICY    "rbd_"                               /* + KIND_per_gib_limit; both (3.14) */
#define METADATA_RBD_ENCRYPTED "rbd.csi.ceph.com/encrypted"         /* state; Ceph-CSI, formerly with a dot first */
#define METADATA_RBD_DEK       "rbd.csi.ceph.com/dek"               /* wrapped key; Ceph-CSI, formerly with a dot first */
#define METADATA_RBD_LUKS      "rbd.csi.ceph.com/luks2HeaderSize"   /* bytes; Ceph-CSI (3.15) */
#define METADATA_RBD_THICK     "rbd.csi.ceph.com/thick-provisioned" /* Ceph-CSI 3.3 to 3.5 */
#define METADATA_RBD_CREATED   ".rbd.image.creation_time"           /* mirroring: seconds:N nanos:N; Ceph-CSI */

/* --- metadata of subvolumes; of the backing snapshot where a volume shows one --- */

#define CLIENT_RECORD_CEPHFS    ".cephfs.csi.ceph.com/clientAddress/" /* + NODE: address of its client, kept; ours */
#define METADATA_CEPHFS_CLIENT  ".cephfs.csi.ceph.com/clientaddress/" /* + HANDLE/NODE (3.15.0: NODE): IP; both (3.15) */
#define METADATA_CEPHFS_USER    ".cephfs.csi.ceph.com/userid/"        /* + HANDLE/NODE: Ceph user; both (3.15) */
#define METADATA_CEPHFS_ACCOUNT ".cephfs.csi.ceph.com/serviceaccount" /* names, by commas; administrators, for both (3.17) */

/* --- metadata of pools, by "ceph osd pool application set" --- */

#define POOL_METADATA       "cephzone."           /* + level of the topology: the pool's value; administrators, for us */
#define POOL_METADATA_CLASS POOL_METADATA "class" /* topologyClass that it serves; administrators, for us */

/* --- names --- */

#define IMAGE_PREFIX_VOLUME   "csi-vol-"       /* + UUID: image or subvolume; default of volumeNamePrefix; both */
#define IMAGE_PREFIX_SNAPSHOT "csi-snap-"      /* + UUID: image or subvolume snapshot; of snapshotNamePrefix; both */
#define IMAGE_PREFIX_GROUP    "csi-vol-group-" /* + UUID: group; default of volumeGroupNamePrefix; both */
#define IMAGE_SUFFIX_CLONE    "-temp"          /* of a clone's name: the image between it and its source; Ceph-CSI */
#define QUIESCE_SET_PREFIX    "cephzone-"      /* + UUID: quiesce set of a group snapshot; ours */
#define CEPHFS_NAMESPACE      "csi"            /* RADOS namespace and subvolume group, if not configured; both */

/* --- subvolumes as files of CephFS; Ceph's manager, and ours with --cephfs-path --- */

#define SUBVOLUMES_ROOT          "/volumes"               /* + /GROUP/NAME: base directory of a subvolume */
#define SUBVOLUMES_NO_GROUP      "_nogroup"               /* group of those that have none */
#define SUBVOLUMES_LEGACY        SUBVOLUMES_ROOT "/_legacy/" /* + MD5 of the base directory's path + .meta: one of an old kind */
#define SUBVOLUME_META           ".meta"                  /* in the base directory: what the manager knows of it */
#define SUBVOLUME_META_GLOBAL    "GLOBAL"                 /* section of .meta: version, type, path, state */
#define SUBVOLUME_META_USER      "USER_METADATA"          /* section of .meta: metadata of the subvolume */
#define SUBVOLUME_META_SNAPSHOT  "SNAP_METADATA_"         /* + SNAPSHOT: section of .meta: metadata of that snapshot */
#define SUBVOLUME_META_CLONES    "clone snaps"            /* section of .meta: uuid to snapshot that is being cloned */
#define SUBVOLUME_SNAPSHOTS      ".snap"                  /* in the base directory: + /SNAPSHOT */
#define ATTRIBUTE_QUOTA          "ceph.quota.max_bytes"   /* of the data directory, below the base directory */
#define ATTRIBUTE_POOL           "ceph.dir.layout.pool"   /* of the data directory */
#define ATTRIBUTE_SNAPSHOT_BIRTH "ceph.snap.btime"        /* of a snapshot: SECONDS.NANOSECONDS; read */

/* --- objects of RBD itself that are read or written directly --- */

#define RBD_DIRECTORY       "rbd_directory" /* names and ids of all images; librbd */
#define RBD_ID_PREFIX       "rbd_id."     /* + image name: object with the image's id; librbd */
#define RBD_HEADER_PREFIX   "rbd_header." /* + image id: object with size, features, metadata; librbd */
#define RBD_OBJECT_MAP_PREFIX "rbd_object_map." /* + image id: which objects of its data exist; librbd */
#define RBD_JOURNAL_PREFIX  "journal."    /* + image id: header of its journal; librbd */
#define RBD_HEADER_METADATA "metadata_"   /* + metadata key: omap key of the header; librbd and ours */
#define RBD_MIRRORING       "rbd_mirroring" /* object: which images of the pool are mirrored; librbd */
#define RBD_TRASH           "rbd_trash"   /* object: images in the trash; librbd */
#define RBD_LOCK            "rbd_lock"    /* lock on the header: all locks of an image; librbd */
#define RBD_LOCK_AUTOMATIC  "auto "       /* start of the cookies of locks taken by clients on their own; librbd */
#define RBD_WORK_LOCK       "cephzone.work" /* lock on the header, shared: clients of the driver that work on the image, or take a snapshot of it; ours */

/* clang-format on */
