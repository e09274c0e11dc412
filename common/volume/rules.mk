LIBRARY_SOURCES += $(addprefix common/volume/, \
	capability.c cluster_mapping.c config.c credentials.c identity_handlers.c keyring.c migration.c operations.c pv_dump.c \
	rbd_parameters.c \
	session.c size.c tasks.c volume_id.c wire.c)
