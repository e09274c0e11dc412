LIBRARY_SOURCES += $(sort $(wildcard common/kube/*.c))
