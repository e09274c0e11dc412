PROGRAMS := $(BUILD)/cephcsi $(BUILD)/cephzone

CEPHCSI_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard programs/cephcsi/*.c)))
# and the driver's table of flags, by which 'cephzone check' judges command lines
CEPHZONE_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard programs/cephzone/*.c programs/cephzone/*/*.c))) \
	$(BUILD)/programs/cephcsi/options.o

$(CEPHCSI_OBJECTS) $(CEPHZONE_OBJECTS): CPPFLAGS += \
	-DCEPHZONE_VERSION='"$(VERSION)"' -DCEPHZONE_COMMIT='"$(COMMIT)"'

$(BUILD)/cephcsi: $(CEPHCSI_OBJECTS) $(LIBRARY)
$(BUILD)/cephzone: $(CEPHZONE_OBJECTS) $(LIBRARY)
$(PROGRAMS):
	@$(if $(V),,echo '  LD $@')
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
