LIBRARY_SOURCES += node/handlers.c
