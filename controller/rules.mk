LIBRARY_SOURCES += $(addprefix controller/, \
	create_volume.c delete_volume.c expand_volume.c fingerprint.c flatten.c \
	fsck.c fsck_entries.c fsck_images.c fsck_names.c fsck_pvs.c fsck_read.c fsck_repair.c \
	fsck_report.c get_volume.c \
	group_snapshot.c handlers.c images.c list.c lookup.c metadata.c migrated.c modify_volume.c names.c \
	purge.c qos.c requests.c snapshot.c snapshot_handlers.c snapshot_steps.c source.c \
	validate_volume.c)
