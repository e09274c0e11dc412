LIBRARY_SOURCES += $(addprefix common/ceph/, \
	admission.c blocklist.c ceph.c ceph_ops.c command.c connections.c filesystem.c image_metadata.c images.c \
	journal.c manager.c objects.c quiesce.c references.c settle.c snapshots.c subvolume.c)
