LIBRARY_SOURCES += $(sort $(wildcard common/volume/*.c))
