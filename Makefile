# cephzone. 'make help' lists the targets.

BUILD ?= build
ifeq ($(origin CC),default)
CC := gcc
endif
# 'make V=1' prints the commands
Q := $(if $(V),,@)
VERSION := 0.1.0
COMMIT := $(shell git rev-parse --short HEAD 2>/dev/null || echo unknown)

CPPFLAGS := -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -I. -I$(BUILD)/proto
WARNINGS := -Wall -Wextra -Wshadow -Wvla -Wformat=2 -Wstrict-prototypes -Wmissing-prototypes \
	-Wcast-qual -Wwrite-strings -Wundef -Wimplicit-fallthrough -Werror
OPTIMIZE ?= -O2 -D_FORTIFY_SOURCE=2
SANITIZE ?=
CFLAGS := -std=gnu17 -g $(OPTIMIZE) $(WARNINGS) -fstack-protector-strong -fPIE $(SANITIZE)
LDFLAGS := -pie -Wl,-z,relro,-z,now -Wl,--as-needed $(SANITIZE)
LIBS := -lgrpc_unsecure -lgpr -lprotobuf-c -lcephfs -lrbd -lrados -ljansson -lmicrohttpd -lcurl -lmount \
	-lblkid -lyaml -luuid -lm -lpthread

LIBRARY := $(BUILD)/libcephzone.a

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:

# every .c file of these folders and of the folders below them
LIBRARY_SOURCES := $(sort $(wildcard $(foreach folder,common controller node,$(folder)/*.c $(folder)/*/*.c $(folder)/*/*/*.c)))

include proto/rules.mk
include programs/rules.mk
include common/scheduling/library/rules.mk
include tests/rules.mk
include deploy/rules.mk

PROTO_CFLAGS += $(SANITIZE)
LIBRARY_OBJECTS := $(LIBRARY_SOURCES:%.c=$(BUILD)/%.o) $(PROTO_OBJECTS)

.PHONY: all
all: $(PROGRAMS) $(SCHEDULING_SHARED) $(SCHEDULING_STATIC) ## build the driver, the tool and the scheduling library

$(BUILD)/%.o: %.c | $(PROTO_HEADERS)
	@mkdir -p $(@D)
	@$(if $(V),,echo '  CC $<')
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(LIBRARY): $(LIBRARY_OBJECTS)
	@rm -f $@
	$(Q)ar rcs $@ $^

-include $(shell find $(BUILD) -path $(BUILD)/image -prune -o -type f -name '*.d' -not -path '$(BUILD)/*/build/*' -print 2>/dev/null)

.PHONY: deps
deps: ## install the Debian packages that are missing
	@tests/deps

.PHONY: clean
clean: ## remove everything that was built
	rm -rf $(BUILD)

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | \
		sed -E 's/^([a-z-]+):.*## (.*)/\1|\2/' | awk -F'|' '{printf "  make %-14s %s\n", $$1, $$2}'
