# libcephzone-scheduling, shared and static: common/scheduling and what it needs, compiled a second time
# without names that others could see. Needs jansson alone.

SCHEDULING_NAME := libcephzone-scheduling
SCHEDULING_SONAME := $(SCHEDULING_NAME).so.0
SCHEDULING_SHARED := $(BUILD)/$(SCHEDULING_NAME).so.$(VERSION)
SCHEDULING_STATIC := $(BUILD)/$(SCHEDULING_NAME).a
SCHEDULING_HEADER := common/scheduling/library/include/cephzone/scheduling.h
SCHEDULING_MAP := common/scheduling/library/czs.map

# The linker refuses the shared library when one of these is missing.
SCHEDULING_SOURCES := $(sort $(wildcard common/scheduling/*.c common/scheduling/library/*.c)) \
	$(addprefix common/topology/,domain.c labels.c quantity.c selector.c) \
	$(addprefix common/kube/objects/,in_tree.c kube_decode.c kube_dump.c kube_objects.c) \
	$(addprefix common/base/,columns.c error.c hash.c memory.c nearest.c string_list.c strmap.c text.c) \
	common/encoding/json.c
SCHEDULING_OBJECTS := $(SCHEDULING_SOURCES:%.c=$(BUILD)/library/%.o)

# of the archive of the programs as well, which unit tests link
$(BUILD)/library/common/scheduling/library/czs_cluster.o $(BUILD)/common/scheduling/library/czs_cluster.o: \
	CPPFLAGS += -DCEPHZONE_VERSION='"$(VERSION)"'

$(SCHEDULING_OBJECTS): $(BUILD)/library/%.o: %.c
	@mkdir -p $(@D)
	@$(if $(V),,echo '  CC $< (library)')
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -fPIE,$(CFLAGS)) -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<

# Sanitizers are resolved by the program.
$(SCHEDULING_SHARED): $(SCHEDULING_OBJECTS) $(SCHEDULING_MAP)
	@$(if $(V),,echo '  LD $@')
	$(Q)$(CC) -shared -Wl,-soname,$(SCHEDULING_SONAME) -Wl,--version-script,$(SCHEDULING_MAP) \
		-Wl,-z,relro,-z,now -Wl,--as-needed $(if $(SANITIZE),$(SANITIZE),-Wl,-z,defs) \
		-o $@ $(SCHEDULING_OBJECTS) -ljansson

# One object, in which what is hidden has become local, so that no name meets one of the program's.
$(SCHEDULING_STATIC): $(SCHEDULING_OBJECTS)
	$(Q)$(CC) -r -nostdlib -o $(BUILD)/library/scheduling.o $^
	$(Q)objcopy --localize-hidden $(BUILD)/library/scheduling.o
	@rm -f $@
	$(Q)ar rcs $@ $(BUILD)/library/scheduling.o
