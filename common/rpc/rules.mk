LIBRARY_SOURCES += $(addprefix common/rpc/, \
	client.c endpoint.c http_server.c message.c message_check.c message_parse.c \
	message_print.c rpc.c server.c server_call.c server_report.c worker_pool.c)
