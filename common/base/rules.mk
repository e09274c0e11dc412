LIBRARY_SOURCES += $(addprefix common/base/, \
	base64.c call.c columns.c condition.c deadline.c error.c flags.c json.c log.c memory.c metrics.c nearest.c network.c \
	process_metrics.c secret.c string_list.c strmap.c subprocess.c text.c uuid.c yaml.c)
