LIBRARY_SOURCES += $(addprefix common/volume/, \
	capability.c class_capacity.c cluster_mapping.c config.c credentials.c identity_handlers.c keyring.c migration.c operations.c pv_dump.c \
	rbd_parameters.c \
	session.c size.c storage_class.c tasks.c volume_id.c wire.c)
