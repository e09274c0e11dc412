# libcephzone-scheduling, shared and static: common/scheduling and what it needs, compiled a second time
# without names that others could see. Needs jansson alone.

SCHEDULING_NAME := libcephzone-scheduling
SCHEDULING_SONAME := $(SCHEDULING_NAME).so.0
SCHEDULING_SHARED := $(BUILD)/$(SCHEDULING_NAME).so.$(VERSION)
SCHEDULING_STATIC := $(BUILD)/$(SCHEDULING_NAME).a
SCHEDULING_HEADER := common/scheduling/library/include/cephzone/scheduling.h
SCHEDULING_MAP := common/scheduling/library/czs.map
SCHEDULING_PC := common/scheduling/library/cephzone-scheduling.pc.in
SCHEDULING_PAGE := docs/man/cephzone-scheduling.3

# The linker refuses the shared library when one of these is missing.
SCHEDULING_SOURCES := $(sort $(wildcard common/scheduling/*.c common/scheduling/library/*.c)) \
	$(addprefix common/topology/,domain.c labels.c quantity.c selector.c) \
	$(addprefix common/kube/objects/,exclusive_disk.c in_tree.c kube_decode.c kube_dump.c kube_objects.c) \
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

# --- installing -----------------------------------------------------------------------------------

LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MAN3DIR = $(PREFIX)/share/man/man3
# each function is found by its name: man czs_check_pod
SCHEDULING_FUNCTIONS = $(shell sed -nE 's/^CZS_PUBLIC .*(czs_[a-z_]+)[^a-z_ ].*/\1/p' $(SCHEDULING_HEADER))

.PHONY: install-library
install-library: $(SCHEDULING_SHARED) $(SCHEDULING_STATIC) ## install the scheduling library, its header, pkg-config file and man pages
	$(Q)$(INSTALL) -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR)/cephzone $(DESTDIR)$(MAN3DIR)
	$(Q)$(INSTALL) -m 0644 $(SCHEDULING_HEADER) $(DESTDIR)$(INCLUDEDIR)/cephzone/
	$(Q)$(INSTALL) -m 0644 $(SCHEDULING_STATIC) $(DESTDIR)$(LIBDIR)/
	$(Q)$(INSTALL) -m 0755 $(SCHEDULING_SHARED) $(DESTDIR)$(LIBDIR)/
	$(Q)ln -sf $(notdir $(SCHEDULING_SHARED)) $(DESTDIR)$(LIBDIR)/$(SCHEDULING_SONAME)
	$(Q)ln -sf $(SCHEDULING_SONAME) $(DESTDIR)$(LIBDIR)/$(SCHEDULING_NAME).so
	$(Q)sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|; s|@VERSION@|$(VERSION)|' \
		$(SCHEDULING_PC) >$(DESTDIR)$(LIBDIR)/pkgconfig/cephzone-scheduling.pc
	$(Q)$(INSTALL) -m 0644 $(SCHEDULING_PAGE) $(DESTDIR)$(MAN3DIR)/
	$(Q)for name in $(SCHEDULING_FUNCTIONS); do \
		ln -sf $(notdir $(SCHEDULING_PAGE)) $(DESTDIR)$(MAN3DIR)/$$name.3; done

.PHONY: uninstall-library
uninstall-library:
	$(Q)rm -f $(addprefix $(DESTDIR)$(LIBDIR)/,$(notdir $(SCHEDULING_SHARED) $(SCHEDULING_STATIC)) $(SCHEDULING_SONAME) \
		$(SCHEDULING_NAME).so pkgconfig/cephzone-scheduling.pc) $(DESTDIR)$(INCLUDEDIR)/cephzone/scheduling.h \
		$(addprefix $(DESTDIR)$(MAN3DIR)/,$(notdir $(SCHEDULING_PAGE)) $(SCHEDULING_FUNCTIONS:%=%.3))

# --- testing --------------------------------------------------------------------------------------

# the guard finds the header where it is, the example where it was installed
$(BUILD)/tidy/docs/example-scheduler/scheduler.ok: CPPFLAGS += -Icommon/scheduling/library/include

# What programs that were linked before rely on. A difference that is meant is stored by 'make abi-update'; one
# that removes or changes something needs another soname as well.
SCHEDULING_ABI := common/scheduling/library/abi/$(SCHEDULING_NAME).abi

.PHONY: abi-update
abi-update: $(SCHEDULING_SHARED) ## store the binary interface of the scheduling library, which check-library compares
	@mkdir -p $(dir $(SCHEDULING_ABI))
	$(Q)abidw --headers-dir $(dir $(SCHEDULING_HEADER)) --exported-interfaces-only --drop-private-types --no-corpus-path --no-comp-dir-path \
		--no-show-locs --no-architecture --out-file $(SCHEDULING_ABI) $(SCHEDULING_SHARED)

.PHONY: check-library
check-library: $(SCHEDULING_SHARED) $(SCHEDULING_STATIC) ## the scheduling library as others see it: installed, linked, from Python
	@BUILD=$(BUILD) tests/run library tests/library/run
