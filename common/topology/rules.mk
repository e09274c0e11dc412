LIBRARY_SOURCES += $(sort $(wildcard common/topology/*.c))
