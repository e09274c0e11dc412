LIBRARY_SOURCES += $(addprefix controller/, \
	create_volume.c delete_volume.c expand_volume.c fingerprint.c flatten.c get_volume.c \
	group_snapshot.c handlers.c images.c list.c lookup.c metadata.c modify_volume.c names.c \
	purge.c qos.c requests.c snapshot.c snapshot_handlers.c snapshot_steps.c source.c \
	validate_volume.c)
