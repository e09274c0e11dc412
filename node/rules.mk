LIBRARY_SOURCES += $(sort $(wildcard node/*.c))
