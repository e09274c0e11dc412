PROGRAMS := $(BUILD)/cephcsi $(BUILD)/cephzone

CEPHCSI_OBJECTS := $(addprefix $(BUILD)/programs/, \
	cephcsi.o driver.o driver_addons.o driver_capacity.o driver_kube.o driver_node.o driver_takeover.o generator.o liveness_handlers.o options.o)
CEPHZONE_OBJECTS := $(addprefix $(BUILD)/programs/, \
	cephzone.o clusters.o command_call.o command_capacity.o command_convert_pv.o \
	command_explain.o command_fsck.o command_place.o command_simulate.o command_takeover.o \
	command_topology.o \
	explain_print.o fsck_print.o live_objects.o objects.o place_terms.o simulate_print.o table.o tool.o \
	topology_svg.o topology_tree.o)

$(CEPHCSI_OBJECTS) $(CEPHZONE_OBJECTS): CPPFLAGS += \
	-DCEPHZONE_VERSION='"$(VERSION)"' -DCEPHZONE_COMMIT='"$(COMMIT)"'

$(BUILD)/cephcsi: $(CEPHCSI_OBJECTS) $(LIBRARY)
$(BUILD)/cephzone: $(CEPHZONE_OBJECTS) $(LIBRARY)
$(PROGRAMS):
	@$(if $(V),,echo '  LD $@')
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
