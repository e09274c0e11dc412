LIBRARY_SOURCES += $(sort $(wildcard controller/*.c))
