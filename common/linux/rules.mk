LIBRARY_SOURCES += $(sort $(wildcard common/linux/*.c))
