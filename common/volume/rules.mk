LIBRARY_SOURCES += $(addprefix common/volume/, \
	capability.c config.c credentials.c identity_handlers.c keyring.c operations.c rbd_parameters.c \
	session.c size.c tasks.c volume_id.c wire.c)
