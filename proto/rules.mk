# Generated protobuf code.
#
# Needs $(BUILD) and $(CC). Defines
#   PROTO_HEADERS            generated headers; order-only prerequisite of whatever includes one
#   PROTO_OBJECTS            objects to link with everything that speaks CSI
#   PROTO_DESCRIPTOR_OBJECT  reader of descriptor sets; only tests/unit/test_proto needs it
#   PROTO_DESCRIPTOR_SET     csi.proto and its imports as one FileDescriptorSet
#
# Includes look like "csi.pb-c.h", with -I$(BUILD)/proto.

# With its plugin protoc-gen-c; calling protoc-c by itself is deprecated.
PROTOC ?= protoc

# Where google/protobuf/ lies; Debian: libprotobuf-dev.
PROTO_SYSTEM_DIR ?= /usr/include

# Set here, not taken from CFLAGS: the code is not ours and is compiled apart from it.
PROTO_CFLAGS := -std=gnu17 -O2 -g -fPIE -Wall -Werror -I$(BUILD)/proto

PROTO_OWN := csi pluginregistration csiaddons_identity csiaddons_fence csiaddons_reclaimspace csiaddons_replication \
    cephzone
PROTO_LINKED := $(PROTO_OWN) google/protobuf/timestamp google/protobuf/duration \
    google/protobuf/wrappers
# csi.pb-c.h includes the header made from descriptor.proto, but no symbol of it is used.
PROTO_ALL := $(PROTO_LINKED) google/protobuf/descriptor

PROTO_HEADERS := $(PROTO_ALL:%=$(BUILD)/proto/%.pb-c.h)
PROTO_OBJECTS := $(PROTO_LINKED:%=$(BUILD)/proto/%.pb-c.o)
PROTO_DESCRIPTOR_OBJECT := $(BUILD)/proto/google/protobuf/descriptor.pb-c.o
PROTO_DESCRIPTOR_SET := $(BUILD)/proto/csi.desc

# $(1): name without suffix; $(2): folder that it is relative to
define proto_generate
$(BUILD)/proto/$(1).pb-c.c $(BUILD)/proto/$(1).pb-c.h &: $(2)/$(1).proto
	@mkdir -p $(BUILD)/proto
	$(Q)$(PROTOC) -Iproto -I$(PROTO_SYSTEM_DIR) --c_out=$(BUILD)/proto $$<
endef

$(foreach name,$(PROTO_OWN),$(eval $(call proto_generate,$(name),proto)))
$(foreach name,$(filter google/%,$(PROTO_ALL)),\
    $(eval $(call proto_generate,$(name),$(PROTO_SYSTEM_DIR))))

$(PROTO_OBJECTS) $(PROTO_DESCRIPTOR_OBJECT): %.o: %.c | $(PROTO_HEADERS)
	@$(if $(V),,echo '  CC $<')
	$(Q)$(CC) $(PROTO_CFLAGS) -MMD -MP -c -o $@ $<

$(PROTO_DESCRIPTOR_SET): proto/csi.proto
	@mkdir -p $(@D)
	$(Q)$(PROTOC) -Iproto -I$(PROTO_SYSTEM_DIR) --include_imports --descriptor_set_out=$@ $<

-include $(PROTO_OBJECTS:.o=.d) $(PROTO_DESCRIPTOR_OBJECT:.o=.d)
